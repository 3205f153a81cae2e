/// Holds taken off the books for a moment, to see what would be without them; they are put back
/// when this ends, whatever happened between. Thread rule: state thread; nothing else touches the
/// books meanwhile.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"

namespace tessera::service {

class Lifted {
 public:
  explicit Lifted(core::Cluster& cluster) : cluster_(cluster) {}
  Lifted(const Lifted&) = delete;
  Lifted& operator=(const Lifted&) = delete;
  ~Lifted() {
    for (auto& [uid, hold] : holds_) cluster_.restore(uid, std::move(hold));
  }
  void off(const std::string& uid) {
    const core::Hold* hold = cluster_.hold({uid});
    if (hold == nullptr) return;
    holds_.emplace_back(PodUid{uid}, *hold);
    cluster_.release({uid});
  }

 private:
  core::Cluster& cluster_;
  std::vector<std::pair<PodUid, core::Hold>> holds_;
};

}  // namespace tessera::service
