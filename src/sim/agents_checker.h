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
#include "sim/agents_mig.h"
#include "sim/agents_vendor.h"

namespace tessera::sim {

class InvariantChecker {
 public:
  /// `grace`: how long after a change of a registration pods may still come that were placed by the
  /// one before.
  explicit InvariantChecker(std::vector<AgentVendor> vendors,
                            std::chrono::milliseconds grace = std::chrono::seconds(60))
      : vendors_(std::move(vendors)), grace_(grace) {}

  /// Devices that are left out belong to the node still: pods may hold them.
  void set_node(const std::string& name, const std::vector<core::Device>& devices, WallTime now);
  /// A pod that is bound to a node of ours, each time it is seen.
  void pod_seen(const k8s::Pod& pod, WallTime now);
  void pod_gone(const std::string& uid);
  /// At the moment of Allocate; `lock` is the text of the node's lock annotation, empty when there
  /// is none.
  void allocate(const k8s::Pod& pod, std::string_view lock, WallTime now,
                std::chrono::milliseconds lock_timeout);
  /// Some time after Allocate has ended: the pod must not own the lock any more.
  void served(const k8s::Pod& pod, std::string_view lock, std::chrono::milliseconds after);
  /// At any time: no lock may be older than this.
  void lock_seen(const std::string& node, std::string_view lock, WallTime now,
                 std::chrono::milliseconds oldest);

  /// The first hundred, in words.
  const std::vector<std::string>& violations() const { return violations_; }
  /// What live pods hold of a device; for tests.
  core::Usage used(const std::string& node, const std::string& device) const;

 private:
  struct VendorBook {
    std::string allocated, to_allocate;
    bool sound = false;  ///< the text was understood
  };
  struct PodBook {
    std::string node;
    std::vector<VendorBook> vendors;  ///< parallel to vendors_
    std::vector<MigRecord> mig;
    std::vector<core::Charge> charges;
  };
  struct DeviceBook {
    core::Device device;
    core::Device before;  ///< larger limits that held until `changed`
    WallTime changed{};
    core::Usage used;
  };
  using NodeBook = std::map<std::string, DeviceBook, std::less<>>;

  void report(const k8s::Pod& pod, std::string_view what);
  void note(std::string what);
  void first_sight(const k8s::Pod& pod, PodBook& book);
  void check_node_keys(const k8s::Pod& pod);
  void check_text(const k8s::Pod& pod, const AgentVendor& vendor, VendorBook& book);
  void check_later(const k8s::Pod& pod, PodBook& book);
  void check_shrinking(const k8s::Pod& pod, const AgentVendor& vendor, const VendorBook& book,
                       const std::string& now);
  void check_mig(const k8s::Pod& pod, const AgentVendor& vendor, PodBook& book);
  void check_instance(const k8s::Pod& pod, const MigRecord& record, const VendorBook& book);
  void check_overlap(const k8s::Pod& pod, const MigRecord& record);
  std::vector<core::Charge> charges_of(const k8s::Pod& pod, const PodBook& book) const;
  void charge(PodBook& book, std::vector<core::Charge> charges);
  void check_sums(const k8s::Pod& pod, const PodBook& book, WallTime now);

  const std::vector<AgentVendor> vendors_;
  const std::chrono::milliseconds grace_;
  std::unordered_map<std::string, NodeBook> nodes_;
  std::unordered_map<std::string, PodBook> pods_;
  std::vector<std::string> violations_;
};

}  // namespace tessera::sim
