#include "sim/agents_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "vendors/codec.h"
#include "vendors/vendors.h"

namespace tessera::sim {
namespace {

constexpr std::size_t kMostViolations = 100;
constexpr std::size_t kLongestLabel = 63;
constexpr std::string_view kNodeKey = "hami.io/vgpu-node";

std::string value_of(const k8s::StringMap& map, std::string_view key) {
  const std::string* value = k8s::find(map, key);
  return value == nullptr ? std::string() : *value;
}

bool beyond(const core::Device& d, const core::Usage& used) {
  return used.slots > d.slots || used.memory > d.memory || used.cores > d.cores;
}

}  // namespace

void InvariantChecker::set_node(const std::string& name, const std::vector<core::Device>& devices) {
  NodeBook& book = nodes_[name];
  for (const core::Device& d : devices) book[d.id].device = d;
}

void InvariantChecker::report(const k8s::Pod& pod, std::string_view what) {
  if (violations_.size() >= kMostViolations) return;
  violations_.push_back(fmt::format("pod {}/{} on {}: {}", pod.ns, pod.name, pod.node_name, what));
}

void InvariantChecker::pod_seen(const k8s::Pod& pod) {
  const std::string allocated = value_of(pod.annotations, keys_.allocated);
  const auto [it, first] = pods_.try_emplace(pod.uid);
  PodBook& book = it->second;
  if (first) {
    book.node = pod.node_name;
    book.allocated = allocated;
    book.to_allocate = value_of(pod.annotations, keys_.to_allocate);
    if (!allocated.empty()) first_sight(pod, book);
  } else if (allocated != book.allocated) {
    report(pod, fmt::format("{} changed after bind from {} to {}", keys_.allocated,
                            text::quote(book.allocated), text::quote(allocated)));
    book.allocated = allocated;
  }
  check_shrinking(pod, book, value_of(pod.annotations, keys_.to_allocate));
  charge(book, pod.finished() ? std::vector<core::Charge>() : charges_of(pod, book));
  if (first) check_sums(pod, book);
}

void InvariantChecker::pod_gone(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  charge(it->second, {});
  pods_.erase(it);
}

/// Invariants 5 and 6: one entry per position, devices of this node, matching types, node keys
/// equal to the node.
void InvariantChecker::first_sight(const k8s::Pod& pod, PodBook& book) {
  if (value_of(pod.annotations, kNodeKey) != pod.node_name) {
    report(pod, fmt::format("annotation {} is {}", kNodeKey,
                            text::quote(value_of(pod.annotations, kNodeKey))));
  }
  const std::string* label = k8s::find(pod.labels, kNodeKey);
  if (label != nullptr && *label != pod.node_name && pod.node_name.size() <= kLongestLabel) {
    report(pod, fmt::format("label {} is {}", kNodeKey, text::quote(*label)));
  }
  const auto positions = vendors::decode_pod_devices(book.allocated);
  if (!positions)
    return report(pod, fmt::format("{}: {}", keys_.allocated, positions.error().what));
  book.sound = true;
  const std::size_t entries =
      positions->empty() ? 0 : positions->size() - 1;  // one piece stands behind the last ';'
  if (entries != pod.containers.size()) {
    report(pod, fmt::format("{} has {} entries for {} containers: {}", keys_.allocated, entries,
                            pod.containers.size(), book.allocated));
  }
  const NodeBook& node = nodes_[pod.node_name];
  for (const auto& position : *positions) {
    for (const vendors::DeviceText& d : position) {
      const auto found = node.find(d.id);
      if (found == node.end()) {
        report(pod, fmt::format("device {} does not belong to the node", text::quote(d.id)));
      } else if (!text::contains_ignoring_case(found->second.device.model, d.type)) {
        report(pod, fmt::format("device {} is a {}, not a {}", d.id, found->second.device.model,
                                text::quote(d.type)));
      }
    }
  }
}

/// Invariant 3: what is left to allocate only shrinks, an entry either stays or becomes empty.
void InvariantChecker::check_shrinking(const k8s::Pod& pod, const PodBook& book,
                                       const std::string& now) {
  if (now == book.to_allocate || !book.sound) return;
  const auto before = vendors::decode_pod_devices(book.to_allocate);
  const auto after = vendors::decode_pod_devices(now);
  if (!before || !after)
    return report(pod,
                  fmt::format("{} became unreadable: {}", keys_.to_allocate, text::quote(now)));
  for (std::size_t i = 0; i < after->size(); ++i) {
    const auto& left = (*after)[i];
    if (left.empty()) continue;
    const bool same = i < before->size() && vendors::encode_pod_devices({left}) ==
                                                vendors::encode_pod_devices({(*before)[i]});
    if (!same)
      report(pod, fmt::format("{} grew from {} to {}", keys_.to_allocate,
                              text::quote(book.to_allocate), text::quote(now)));
  }
}

std::vector<core::Charge> InvariantChecker::charges_of(const k8s::Pod& pod,
                                                       const PodBook& book) const {
  if (!book.sound) return {};
  const auto positions = vendors::decode_pod_devices(book.allocated);
  if (!positions) return {};
  core::Allocation allocation{.node = pod.node_name,
                              .kinds = vendors::Vendors::kinds_of(pod),
                              .init_finished = pod.init_finished};
  for (std::size_t i = 0; i < positions->size(); ++i) {
    for (const vendors::DeviceText& d : (*positions)[i]) {
      allocation.grants.push_back(
          {static_cast<std::uint32_t>(i), VendorId{0}, d.id, {d.memory}, {d.cores}});
    }
  }
  std::vector<core::Charge> charges = core::effective_charges(allocation);
  const auto node = nodes_.find(pod.node_name);
  const auto unknown = [&](const core::Charge& c) {  // reported at first sight
    return node == nodes_.end() || node->second.find(c.device) == node->second.end();
  };
  charges.erase(std::remove_if(charges.begin(), charges.end(), unknown), charges.end());
  return charges;
}

void InvariantChecker::charge(PodBook& book, std::vector<core::Charge> charges) {
  NodeBook& node = nodes_[book.node];
  for (const core::Charge& c : book.charges) node[c.device].used -= c.usage;
  for (const core::Charge& c : charges) node[c.device].used += c.usage;
  book.charges = std::move(charges);
}

/// Invariant 2. Only asked when a pod is bound: nothing else can add to a device.
void InvariantChecker::check_sums(const k8s::Pod& pod, const PodBook& book) {
  const NodeBook& node = nodes_[book.node];
  for (const core::Charge& c : book.charges) {
    const auto it = node.find(c.device);
    if (it == node.end() || !beyond(it->second.device, it->second.used)) continue;
    const core::Device& d = it->second.device;
    const core::Usage& u = it->second.used;
    report(pod, fmt::format("device {} over its limits: {}/{} slots, {}/{} MiB, {}/{} cores", d.id,
                            u.slots, d.slots, u.memory.v, d.memory.v, u.cores.v, d.cores.v));
  }
}

void InvariantChecker::allocate(const k8s::Pod& pod, std::string_view lock, WallTime now,
                                std::chrono::milliseconds lock_timeout) {
  const std::vector<std::string_view> parts = text::split(lock, ',');
  if (parts.size() != 3 || parts[1] != pod.ns || parts[2] != pod.name) {
    return report(pod, fmt::format("the lock at the moment of Allocate is {}", text::quote(lock)));
  }
  const Result<WallTime> since = parse_rfc3339(parts[0]);
  if (!since) return report(pod, since.error().what);
  if (now - *since > lock_timeout)
    report(pod, fmt::format("the lock is older than {}: {}", format_duration(lock_timeout), lock));
}

core::Usage InvariantChecker::used(const std::string& node, const std::string& device) const {
  const auto n = nodes_.find(node);
  if (n == nodes_.end()) return {};
  const auto d = n->second.find(device);
  return d == n->second.end() ? core::Usage{} : d->second.used;
}

}  // namespace tessera::sim
