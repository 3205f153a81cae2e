/// The table of vendors in force, made from the device configuration. The only place where
/// annotations and resource names meet devices. Thread rule: immutable after construction; shared
/// freely.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/cluster.h"
#include "core/request.h"
#include "json/reader.h"
#include "k8s/objects.h"
#include "policies/label_priority.h"
#include "vendors/config.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

struct PolicyDefaults {
  const core::NodePolicy* node = nullptr;
  std::vector<const core::DevicePolicy*> devices;
  core::ScoreMode mode = core::ScoreMode::kCorrected;
  core::HamiPolicies words;                       ///< the flags as written; read in HAMi's mode
  const core::NodePolicy* node_before = nullptr;  ///< Request::node_policy_before
  const core::NodePolicy* node_after = nullptr;   ///< Request::node_policy_after
  std::string priority_label{policies::kPriorityLabel};  ///< of nodes, for "label-priority"
};

struct NodeReading {
  core::NodeSpec spec;        ///< devices of all vendors whose annotation could be read
  bool has_register = false;  ///< at least one register annotation is there
  std::vector<std::string>
      problems;  ///< one sentence per vendor whose annotation is bad; other vendors stay (W-13)
};

/// A row of the table of vendors as people read it (`tessera vendors`). "" = the vendor has none.
struct VendorDescription {
  std::string word, section;
  std::string count_resource, memory_resource, memory_percent_resource, core_resource;
  std::int64_t memory_unit = 1;  ///< MiB that one of the memory resource stands for
  std::string register_key, handshake_key;
  std::string to_allocate_key, allocated_key;
  bool locks_node = true;
};

struct QuotaReading {
  core::QuotaSpec spec;               ///< no limits: the object is not about our devices
  std::vector<std::string> problems;  ///< values and scopes that are not served as written
  std::vector<std::string> warnings;  ///< served, but perhaps not what was meant
};

struct Demand {
  core::Request request;              ///< request.asks_devices() == false: not a device pod
  std::vector<std::string> warnings;  ///< "unknown policy word …", "cores above 100 count as 100"
};

class Vendors {
 public:
  /// An error only when no section gives a vendor.
  static Result<Vendors> make(DeviceConfig config);

  const std::vector<Vendor>& all() const { return vendors_; }
  const Vendor& at(VendorId id) const { return vendors_[id.v]; }
  core::VendorTable rules() const;
  std::vector<std::string> resource_names() const;  ///< every configured name (managedResources)
  std::vector<VendorDescription> table() const;

  /// What the decoders keep: our annotations, labels and resources. Copies of strings inside; safe
  /// to keep.
  k8s::Keep keep() const;

  NodeReading read_node(const k8s::Node& node) const;
  /// The same for many nodes, one after the other: `parser` lends its memory.
  NodeReading read_node(const k8s::Node& node, json::Parser& parser) const;
  /// Quantities that cannot be used are errors naming container, resource and value; they never
  /// become "no request" (D7).
  Result<Demand> demand(const k8s::Pod& pod, const PolicyDefaults& defaults) const;
  bool asks_devices(
      const k8s::Pod& pod) const;  ///< names a count resource with a value other than 0, or one of
                                   ///< the resources that default a count
  bool needs_lock(const core::Request& request) const;
  /// `limits.` of memory (times the factor), core and count resources; fractions are rounded down.
  QuotaReading read_quota(const k8s::ResourceQuota& quota) const;
  /// What decides which quota objects the pod falls under.
  static core::QuotaSubject subject_of(const k8s::Pod& pod);

  /// Device texts under both keys of each vendor of the allocation, exactly one entry per position
  /// (S-1), and what the vendors' own hooks add.
  /// `carried`: keys of earlier decisions that the pod has; those not written anew become empty,
  /// so that no agent acts on them (N-4).
  k8s::StringMap encode(const core::Allocation& allocation, WallTime now,
                        const std::vector<std::string>& carried = {}) const;
  /// Keys of decisions with something in them, as another scheduler may have left them.
  std::vector<std::string> carried_keys(const k8s::Pod& pod) const;
  /// From the allocated keys. kNotFound when the pod carries none. Positions beyond the containers
  /// (trailing empties) are dropped. What of it was bad, beside what was good, is appended to
  /// `problems`.
  Result<core::Allocation> decode(const k8s::Pod& pod,
                                  std::vector<std::string>* problems = nullptr) const;
  static std::vector<core::PositionKind> kinds_of(const k8s::Pod& pod);

  struct Mutation {
    bool uses_device = false;
    std::vector<ContainerMutation> containers;  ///< by position
    std::string runtime_class;                  ///< to set on the pod, "" = leave
    std::vector<std::string> warnings;
  };
  /// Error text names resource, value and container.
  Result<Mutation> mutate(const k8s::Pod& pod) const;
  /// Pod annotations and labels that only schedulers and agents write: stripped on CREATE.
  bool is_scheduler_key(std::string_view key) const;

 private:
  explicit Vendors(std::vector<Vendor> rows);
  bool asks_vendor(const k8s::Container& container, std::size_t row) const;
  std::vector<std::uint32_t> positions_of(const k8s::Pod& pod, std::size_t row,
                                          std::size_t pieces) const;
  Status decode_vendor(const k8s::Pod& pod, std::size_t row, const std::string& text,
                       core::Allocation& allocation) const;

  std::vector<Vendor> vendors_;
};

}  // namespace tessera::vendors
