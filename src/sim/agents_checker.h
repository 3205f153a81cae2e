/// The invariants that node agents can see: spec/node-agent-protocol.md section 10.3. Keeps its own
/// books of every device from the texts that pods carry, independent of the scheduler's. Thread
/// rule: owned by one thread or guarded by its owner.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "core/allocation.h"
#include "core/device.h"
#include "k8s/objects.h"

namespace tessera::sim {

struct CheckerKeys {
  std::string to_allocate, allocated;
};

class InvariantChecker {
 public:
  explicit InvariantChecker(CheckerKeys keys) : keys_(std::move(keys)) {}

  void set_node(const std::string& name, const std::vector<core::Device>& devices);
  /// A pod that is bound to a node of ours, each time it is seen.
  void pod_seen(const k8s::Pod& pod);
  void pod_gone(const std::string& uid);
  /// At the moment of Allocate; `lock` is the text of the node's lock annotation, empty when there
  /// is none.
  void allocate(const k8s::Pod& pod, std::string_view lock, WallTime now,
                std::chrono::milliseconds lock_timeout);

  /// The first hundred, in words.
  const std::vector<std::string>& violations() const { return violations_; }
  /// What live pods hold of a device; for tests.
  core::Usage used(const std::string& node, const std::string& device) const;

 private:
  struct PodBook {
    std::string node, allocated, to_allocate;
    bool sound = false;  ///< the text was understood
    std::vector<core::Charge> charges;
  };
  struct DeviceBook {
    core::Device device;
    core::Usage used;
  };
  using NodeBook = std::map<std::string, DeviceBook, std::less<>>;

  void report(const k8s::Pod& pod, std::string_view what);
  void first_sight(const k8s::Pod& pod, PodBook& book);
  void check_shrinking(const k8s::Pod& pod, const PodBook& book, const std::string& now);
  std::vector<core::Charge> charges_of(const k8s::Pod& pod, const PodBook& book) const;
  void charge(PodBook& book, std::vector<core::Charge> charges);
  void check_sums(const k8s::Pod& pod, const PodBook& book);

  CheckerKeys keys_;
  std::unordered_map<std::string, NodeBook> nodes_;
  std::unordered_map<std::string, PodBook> pods_;
  std::vector<std::string> violations_;
};

}  // namespace tessera::sim
