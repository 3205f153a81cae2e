/// What the state thread needs to know of a pod or node, read from an API object on the thread that
/// received it. Thread rule: FactReader is immutable and shared; facts are plain values that travel
/// by message; LiveReader may be asked from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/clock.h"
#include "base/result.h"
#include "core/allocation.h"
#include "core/cluster.h"
#include "core/request.h"
#include "json/reader.h"
#include "k8s/objects.h"
#include "service/node_lock.h"
#include "service/preempt_note.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct PodFact {
  std::uint64_t generation = 0;  ///< of the reader that read it
  std::string ns, name, uid;
  std::uint64_t version = 0;  ///< resourceVersion as a number, 0 when it is none
  std::string node;           ///< spec.nodeName
  bool asks_devices = false;
  bool finished = false, terminating = false, started = false, init_finished = false;
  std::optional<WallTime> unschedulable_since;
  std::string bind_phase;
  std::optional<WallTime> bind_time;
  std::string annotated_node;           ///< hami.io/vgpu-node
  std::vector<std::string> containers;  ///< names by position, of device pods
  Boxed<core::Request> request;         ///< of pods that are not bound yet
  Boxed<core::Allocation> allocation;   ///< of bound pods: what their annotations say
  std::string problem;  ///< why request or allocation could not be read, with the value
  std::vector<std::string> carried_keys;  ///< of an unbound pod: left by another scheduler
  std::int64_t priority = 0;
  bool never_preempts = false;
  std::chrono::seconds grace{30};  ///< it may take to end
  std::optional<WallTime> created, start_time;
  k8s::StringMap labels;                       ///< only where the reader keeps labels
  std::shared_ptr<const NoteFact> preemption;  ///< of a preemption in progress for this pod
};

/// What a node's annotations say of one vendor whose agents register there.
struct HandshakeFact {
  VendorId vendor;
  std::string key;           ///< of the annotation
  bool must_report = false;  ///< a loss ends with a fresh report only
  std::optional<std::string> text;
};

struct NodeFact {
  std::uint64_t generation = 0;  ///< of the reader that read it
  std::string name, uid, resource_version;
  std::uint64_t version = 0;
  std::optional<std::string> lock;
  bool has_register = false;
  core::NodeSpec spec;
  std::vector<HandshakeFact> handshakes;  ///< of vendors whose register annotation is there
  std::vector<std::string> problems;
  std::string label_problem;  ///< why the priority label counts as 0, with the value
};

struct QuotaFact {
  std::uint64_t generation = 0;  ///< of the reader that read it
  std::uint64_t version = 0;
  core::QuotaSpec spec;               ///< without limits when none of them is about devices
  std::vector<std::string> warnings;  ///< keys that look enforced and are not
};

class FactReader {
 public:
  /// keep_labels: of pods, for the selectors of disruption budgets.
  FactReader(std::shared_ptr<const vendors::Vendors> vendors, vendors::PolicyDefaults defaults,
             std::uint64_t generation = 1, bool keep_labels = false);

  /// What decoders keep: what the vendors need plus our own keys.
  const k8s::Keep& keep() const { return keep_; }
  const vendors::Vendors& vendors() const { return *vendors_; }
  const vendors::PolicyDefaults& defaults() const { return defaults_; }
  /// Vendor ids mean something within one generation only.
  std::uint64_t generation() const { return generation_; }
  bool keeps_labels() const { return keep_labels_; }

  /// False: the pod asks for no device, as read_pod would find, at a fraction of the time. True
  /// also for what cannot be read: read_pod says why.
  bool may_ask_devices(json::Value object) const;
  Result<PodFact> read_pod(json::Value object) const;
  PodFact read_pod(const k8s::Pod& pod) const;
  Result<NodeFact> read_node(json::Value object) const;
  NodeFact read_node(const k8s::Node& node) const;
  Result<QuotaFact> read_quota(json::Value object) const;

 private:
  std::shared_ptr<const vendors::Vendors> vendors_;
  vendors::PolicyDefaults defaults_;
  k8s::Keep keep_;
  std::uint64_t generation_;
  bool keep_labels_;
  bool asks_by_names_ = false;  ///< a container that names none of our resources asks for nothing
};

/// The reader in force: replaced as a whole when the device configuration changes. Whoever reads
/// something keeps the pointer while it works with what was read.
class LiveReader {
 public:
  explicit LiveReader(std::shared_ptr<const FactReader> first) : reader_(std::move(first)) {}
  std::shared_ptr<const FactReader> get() const {
    const std::lock_guard guard(mutex_);
    return reader_;
  }
  void replace(std::shared_ptr<const FactReader> next) {
    const std::lock_guard guard(mutex_);
    reader_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const FactReader> reader_;
};

/// The pod as the owner of a lock on `node`.
LockOwner lock_owner(const PodFact& pod, std::string_view node);

/// A resourceVersion as a number; 0 when it is not one.
std::uint64_t version_number(std::string_view resource_version);

}  // namespace tessera::service
