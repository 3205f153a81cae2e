/// Calls that came before this process may decide wait here: until the caches are filled and we
/// lead, until their client gives up, or until their time is over. Thread rule: owned by the state
/// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "service/task_thread.h"

namespace tessera::service {

class ReadyGate {
 public:
  struct Visitor {
    std::function<void()> enter;
    std::function<void(const std::string& why)> turn_away;
    std::shared_ptr<std::atomic<bool>> client_gone;
  };
  struct Obstacle {
    std::string why;                         ///< in words, for those who have waited in vain
    std::chrono::milliseconds longest_wait;  ///< counted from a call's arrival
  };
  /// `obstacle` tells what stands in the way now. It is asked when a call comes and again when its
  /// time is over: what has become another obstacle meanwhile may be worth a longer wait.
  ReadyGate(TaskThread& state, std::function<Obstacle()> obstacle);

  void pass(Visitor visitor);
  void open();
  void close();                       ///< whoever comes from now on waits again
  void reconsider();                  ///< the obstacle is another one than before
  void shut(const std::string& why);  ///< for good
  bool is_open() const { return open_ && shut_.empty(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  struct Waiting {
    Visitor visitor;
    Instant arrived;
  };
  void look_again(const std::shared_ptr<Waiting>& waiting);

  TaskThread& state_;
  std::function<Obstacle()> obstacle_;
  std::list<std::shared_ptr<Waiting>> waiting_;
  bool open_ = false;
  std::string shut_;
};

}  // namespace tessera::service
