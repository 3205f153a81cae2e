/// Takes the charges of chosen pods off the books for a moment, to see what would be without them,
/// and puts all of them back when it ends. The holds themselves stay where they are: hold(),
/// holders() and deadlines tell the same throughout, only use of devices and quotas changes. Node
/// versions do not move, so nothing that is remembered about a node is lost by a question; whoever
/// keeps verdicts by version must therefore not ask or be asked while something is lifted.
/// Thread rule: the owner of the cluster; nothing else may change the cluster while one lives.
///   Lift lift(cluster); const auto pod = lift.know(uid); lift.off(*pod); …; lift.on(*pod);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/allocation.h"
#include "core/cluster.h"

namespace tessera::core {

class Lift {
 public:
  using Handle = std::uint32_t;

  explicit Lift(Cluster& cluster) : cluster_(cluster) {}
  ~Lift();
  Lift(const Lift&) = delete;
  Lift& operator=(const Lift&) = delete;

  /// Nothing changes yet. Empty when the pod holds nothing.
  std::optional<Handle> know(const PodUid& uid);
  /// Off and on again; the same twice over changes nothing.
  void off(Handle pod);
  void on(Handle pod);

 private:
  struct Pod {
    NodeId node;
    bool lifted = false;
    std::vector<Charge> charges;
    QuotaSubject subject;
    QuotaNeeds needs;
  };

  Cluster& cluster_;
  std::vector<Pod> pods_;
};

}  // namespace tessera::core
