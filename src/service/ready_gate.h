/// Calls that came before the caches were filled wait here: until they are, until their client
/// gives up, or until their time is over. Thread rule: owned by the state thread.
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
  /// `missing` tells what is not there yet.
  ReadyGate(TaskThread& state, std::chrono::milliseconds longest_wait,
            std::function<std::string()> missing);

  void pass(Visitor visitor);
  void open();
  void shut(const std::string& why);  ///< for good
  std::size_t waiting() const { return waiting_.size(); }

 private:
  TaskThread& state_;
  std::chrono::milliseconds longest_wait_;
  std::function<std::string()> missing_;
  std::list<std::shared_ptr<Visitor>> waiting_;
  bool open_ = false;
  std::string shut_;
};

}  // namespace tessera::service
