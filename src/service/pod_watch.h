/// What becomes of pods after their Binding: how long their node's agent takes, which agents fail,
/// and which pods run although nobody gave them the devices they ask for (a scheduler that knows
/// nothing of shared devices has placed them). Source: spec/metrics.md section 8, case 104. Thread
/// rule: state thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "service/books.h"
#include "service/measures.h"

namespace tessera::service {

class PodWatch {
 public:
  PodWatch(const Books& books, const Measures& measures, const Clock& clock);

  /// After news of a pod, and after it was removed from the books.
  void pod_changed(const PodRecord& pod);

  std::map<std::string, std::size_t> allocating() const;  ///< by node
  std::size_t unassigned() const { return unassigned_.size(); }

  /// Once per pod that was bound without devices and has not started.
  std::function<void(const PodRecord& pod)> on_unassigned;

 private:
  struct Pending {
    std::string node;
    std::optional<WallTime> since;
  };
  void follow_agent(const PodRecord& pod, bool alive);
  void follow_assignment(const PodRecord& pod, bool alive);

  const Books& books_;
  const Measures& measures_;
  const Clock& clock_;
  std::unordered_map<std::string, Pending> pending_;  // by uid
  std::unordered_set<std::string> unassigned_;        // uids
};

}  // namespace tessera::service
