#include "service/facts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "k8s/decode.h"
#include "policies/label_priority.h"
#include "service/keys.h"

namespace tessera::service {
namespace {

bool is_own_annotation(std::string_view key) {
  return key == kNodeLockKey || key == kAssignedNodeKey || key == kAssignedTimeKey ||
         key == kBindPhaseKey || key == kBindTimeKey || key == kPreemptionKey;
}

std::string annotation_or_empty(const k8s::Pod& pod, std::string_view key) {
  const std::string* value = k8s::find(pod.annotations, key);
  return value == nullptr ? std::string() : *value;
}

std::optional<WallTime> parse_bind_time(std::string_view seconds) {
  const Result<std::int64_t> value = text::parse_int(seconds, 64);
  if (!value || *value < 0 || *value > 100'000'000'000) return std::nullopt;
  return WallTime(std::chrono::seconds(*value));
}

/// The devices of the note are read like those of a bound pod.
std::shared_ptr<const NoteFact> read_note(const k8s::Pod& pod, const vendors::Vendors& vendors) {
  const std::string* text = k8s::find(pod.annotations, kPreemptionKey);
  if (text == nullptr) return nullptr;
  auto fact = std::make_shared<NoteFact>();
  Result<PreemptionNote> note = decode_note(*text);
  if (!note) {
    fact->problem = note.error().what;
    return fact;
  }
  fact->note = std::move(*note);
  if (!pod.node_name.empty()) return fact;
  k8s::Pod planned = pod;
  planned.node_name = fact->note.node;
  for (const auto& [key, value] : fact->note.devices) {
    std::erase_if(planned.annotations,
                  [&wanted = key](const auto& entry) { return entry.first == wanted; });
    planned.annotations.emplace_back(key, value);
  }
  Result<core::Allocation> allocation = vendors.decode(planned);
  if (allocation)
    fact->allocation = std::move(*allocation);
  else
    fact->problem = allocation.error().what;
  return fact;
}

/// What the pod says it holds, cut so that a log line stays one.
std::string shown_allocation(const k8s::Pod& pod, const vendors::Vendors& vendors) {
  std::string out;
  for (const vendors::Vendor& vendor : vendors.all()) {
    const std::string* value = k8s::find(pod.annotations, vendor.allocated_key);
    if (value == nullptr) continue;
    out += out.empty() ? "" : " ";
    out += vendor.allocated_key + "=" + text::quote(value->substr(0, 256));
  }
  return out;
}

std::vector<HandshakeFact> read_handshakes(const k8s::Node& node, const vendors::Vendors& vendors) {
  std::vector<HandshakeFact> out;
  for (std::size_t row = 0; row < vendors.all().size(); ++row) {
    const vendors::Vendor& vendor = vendors.all()[row];
    const bool registered = !vendor.handshake_key.empty() && !vendor.register_key.empty() &&
                            k8s::find(node.annotations, vendor.register_key) != nullptr;
    if (!registered) continue;
    const std::string* text = k8s::find(node.annotations, vendor.handshake_key);
    out.push_back({.vendor = VendorId{static_cast<std::uint16_t>(row)},
                   .key = vendor.handshake_key,
                   .must_report = vendor.reports_by_handshake,
                   .text = text == nullptr ? std::nullopt : std::optional<std::string>(*text)});
  }
  return out;
}

void read_priority(const k8s::Node& node, std::string_view key, NodeFact& fact) {
  const std::string* label = k8s::find(node.labels, key);
  if (label == nullptr) return;
  const Result<std::int64_t> priority = policies::read_label_priority(*label);
  if (priority)
    fact.spec.label_priority = *priority;
  else
    fact.label_problem = priority.error().what;
}

}  // namespace

FactReader::FactReader(std::shared_ptr<const vendors::Vendors> vendors,
                       vendors::PolicyDefaults defaults, std::uint64_t generation, bool keep_labels)
    : vendors_(std::move(vendors)),
      defaults_(std::move(defaults)),
      keep_(vendors_->keep()),
      generation_(generation),
      keep_labels_(keep_labels) {
  if (keep_labels) keep_.label = [](std::string_view) { return true; };
  keep_.annotation = [inner = keep_.annotation](std::string_view key) {
    return is_own_annotation(key) || !inner || inner(key);
  };
  keep_.label = [inner = keep_.label, own = defaults_.priority_label](std::string_view key) {
    return key == own || !inner || inner(key);
  };
  k8s::Pod nothing_named;
  nothing_named.containers.resize(1);
  asks_by_names_ = keep_.resource && !vendors_->asks_devices(nothing_named);
}

bool FactReader::may_ask_devices(json::Value object) const {
  return !asks_by_names_ || k8s::names_resource(object, keep_.resource);
}

Result<PodFact> FactReader::read_pod(json::Value object) const {
  Result<k8s::Pod> pod = k8s::decode_pod(object, keep_);
  if (!pod) return tl::unexpected(pod.error());
  return read_pod(*pod);
}

PodFact FactReader::read_pod(const k8s::Pod& pod) const {
  PodFact fact;
  fact.generation = generation_;
  fact.ns = pod.ns;
  fact.name = pod.name;
  fact.uid = pod.uid;
  fact.version = version_number(pod.resource_version);
  fact.node = pod.node_name;
  fact.asks_devices = vendors_->asks_devices(pod);
  fact.finished = pod.finished();
  fact.terminating = pod.terminating;
  fact.started = pod.phase == k8s::Phase::kRunning;
  fact.init_finished = pod.init_finished;
  fact.unschedulable_since = pod.unschedulable_since;
  fact.bind_phase = annotation_or_empty(pod, kBindPhaseKey);
  fact.bind_time = parse_bind_time(annotation_or_empty(pod, kBindTimeKey));
  fact.annotated_node = annotation_or_empty(pod, kAssignedNodeKey);
  fact.priority = pod.priority;
  fact.never_preempts = pod.never_preempts;
  fact.grace = std::chrono::seconds(std::max<std::int64_t>(pod.grace_seconds, 0));
  fact.created = pod.created;
  fact.start_time = pod.started;
  if (!fact.asks_devices || fact.finished) return fact;
  if (keep_labels_) fact.labels = pod.labels;
  fact.preemption = read_note(pod, *vendors_);
  for (const k8s::Container& container : pod.containers) {
    fact.containers.push_back(container.name);
  }
  if (fact.node.empty()) {
    fact.carried_keys = vendors_->carried_keys(pod);
    Result<vendors::Demand> demand = vendors_->demand(pod, defaults_);
    if (demand)
      fact.request = std::move(demand->request);
    else
      fact.problem = demand.error().what;
    return fact;
  }
  std::vector<std::string> problems;
  Result<core::Allocation> allocation = vendors_->decode(pod, &problems);
  if (allocation) {
    fact.problem = text::join(problems, "; ");
    allocation->node = fact.node;  // the node it runs on, whatever the annotation says
    fact.allocation = std::move(*allocation);
  } else {
    fact.problem = allocation.error().what;
    const std::string shown = shown_allocation(pod, *vendors_);
    if (!shown.empty()) fact.problem += ": " + shown;
  }
  return fact;
}

Result<NodeFact> FactReader::read_node(json::Value object) const {
  Result<k8s::Node> node = k8s::decode_node(object, keep_);
  if (!node) return tl::unexpected(node.error());
  return read_node(*node);
}

NodeFact FactReader::read_node(const k8s::Node& node) const {
  vendors::NodeReading reading = vendors_->read_node(node);
  NodeFact fact;
  fact.generation = generation_;
  fact.name = node.name;
  fact.uid = node.uid;
  fact.resource_version = node.resource_version;
  fact.version = version_number(node.resource_version);
  if (const std::string* lock = k8s::find(node.annotations, kNodeLockKey)) fact.lock = *lock;
  fact.has_register = reading.has_register;
  fact.spec = std::move(reading.spec);
  fact.spec.name = node.name;
  fact.spec.locked = fact.lock.has_value();
  read_priority(node, defaults_.priority_label, fact);
  fact.problems = std::move(reading.problems);
  fact.handshakes = read_handshakes(node, vendors());
  return fact;
}

LockOwner lock_owner(const PodFact& pod, std::string_view node) {
  LockOwner owner;
  if (pod.node.empty())
    owner.place = LockOwner::Place::kUnbound;
  else
    owner.place = pod.node == node ? LockOwner::Place::kHere : LockOwner::Place::kElsewhere;
  owner.finished = pod.finished;
  owner.terminating_before_start = pod.terminating && !pod.started;
  owner.bind_time = pod.bind_time;
  owner.agent_done = pod.bind_phase == "success" || pod.bind_phase == "failed";
  return owner;
}

std::uint64_t version_number(std::string_view resource_version) {
  const Result<std::int64_t> value = text::parse_int(resource_version, 64);
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

}  // namespace tessera::service
