#include "sim/agents_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

constexpr std::size_t kMostViolations = 100;
constexpr std::size_t kLongestLabel = 63;
constexpr std::string_view kNodeKey = "hami.io/vgpu-node";

std::string value_of(const k8s::StringMap& map, std::string_view key) {
  const std::string* value = k8s::find(map, key);
  return value == nullptr ? std::string() : *value;
}

bool owned_by(std::string_view lock, const k8s::Pod& pod) {
  const std::vector<std::string_view> parts = text::split(lock, ',');
  return parts.size() == 3 && parts[1] == pod.ns && parts[2] == pod.name;
}

core::PositionKind kind_of(const k8s::Container& container) {
  if (container.sidecar) return core::PositionKind::kSidecar;
  return container.init ? core::PositionKind::kInit : core::PositionKind::kApp;
}

bool larger_somewhere(const core::Device& a, const core::Device& b) {
  return a.slots > b.slots || a.memory > b.memory || a.cores > b.cores;
}

core::Device largest(core::Device a, const core::Device& b) {
  a.slots = std::max(a.slots, b.slots);
  a.memory = std::max(a.memory, b.memory);
  a.cores = std::max(a.cores, b.cores);
  return a;
}

bool beyond(const core::Device& d, const core::Usage& used, const AgentVendor& vendor) {
  const std::int64_t cores = std::max(d.cores.v, vendor.least_cores);
  return used.memory > d.memory || (vendor.counts_slots && used.slots > d.slots) ||
         (vendor.counts_cores && used.cores.v > cores);
}

}  // namespace

void InvariantChecker::set_node(const std::string& name, const std::vector<core::Device>& devices,
                                WallTime now) {
  NodeBook& book = nodes_[name];
  for (const core::Device& d : devices) {
    const auto [it, fresh] = book.try_emplace(d.id);
    DeviceBook& entry = it->second;
    if (!fresh && larger_somewhere(entry.device, d)) {
      entry.before = entry.device;
      entry.changed = now;
    }
    entry.device = d;
  }
}

void InvariantChecker::note(std::string what) {
  if (violations_.size() < kMostViolations) violations_.push_back(std::move(what));
}

void InvariantChecker::report(const k8s::Pod& pod, std::string_view what) {
  note(fmt::format("pod {}/{} on {}: {}", pod.ns, pod.name, pod.node_name, what));
}

void InvariantChecker::pod_seen(const k8s::Pod& pod, WallTime now) {
  const auto [it, first] = pods_.try_emplace(pod.uid);
  PodBook& book = it->second;
  if (first) {
    book.node = pod.node_name;
    first_sight(pod, book);
  } else {
    check_later(pod, book);
  }
  if (pod.finished()) book.mig.clear();
  charge(book, pod.finished() ? std::vector<core::Charge>() : charges_of(pod, book));
  if (first) check_sums(pod, book, now);
}

void InvariantChecker::pod_gone(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  charge(it->second, {});
  pods_.erase(it);
}

/// Invariants 5 to 7, once: what is written at bind does not change any more.
void InvariantChecker::first_sight(const k8s::Pod& pod, PodBook& book) {
  bool assigned = false;
  for (const AgentVendor& vendor : vendors_) {
    VendorBook& texts = book.vendors.emplace_back();
    texts.allocated = value_of(pod.annotations, vendor.allocated_key);
    texts.to_allocate = value_of(pod.annotations, vendor.to_allocate_key);
    if (texts.allocated.empty()) continue;
    assigned = true;
    check_text(pod, vendor, texts);
  }
  if (!assigned) return;
  check_node_keys(pod);
  for (const AgentVendor& vendor : vendors_)
    if (!vendor.mig_key.empty()) check_mig(pod, vendor, book);
}

void InvariantChecker::check_node_keys(const k8s::Pod& pod) {
  if (value_of(pod.annotations, kNodeKey) != pod.node_name) {
    report(pod, fmt::format("annotation {} is {}", kNodeKey,
                            text::quote(value_of(pod.annotations, kNodeKey))));
  }
  const std::string* label = k8s::find(pod.labels, kNodeKey);
  if (label != nullptr && *label != pod.node_name && pod.node_name.size() <= kLongestLabel) {
    report(pod, fmt::format("label {} is {}", kNodeKey, text::quote(*label)));
  }
}

/// Invariant 5: one entry per position, devices of this node, matching types.
void InvariantChecker::check_text(const k8s::Pod& pod, const AgentVendor& vendor,
                                  VendorBook& book) {
  const auto positions = vendors::decode_pod_devices(book.allocated);
  if (!positions)
    return report(pod, fmt::format("{}: {}", vendor.allocated_key, positions.error().what));
  book.sound = true;
  const std::size_t entries =
      positions->empty() ? 0 : positions->size() - 1;  // one piece stands behind the last ';'
  if (entries != pod.containers.size()) {
    report(pod, fmt::format("{} has {} entries for {} containers: {}", vendor.allocated_key,
                            entries, pod.containers.size(), book.allocated));
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

/// Invariant 3.
void InvariantChecker::check_later(const k8s::Pod& pod, PodBook& book) {
  for (std::size_t v = 0; v < vendors_.size(); ++v) {
    const AgentVendor& vendor = vendors_[v];
    VendorBook& texts = book.vendors[v];
    const std::string allocated = value_of(pod.annotations, vendor.allocated_key);
    if (allocated != texts.allocated) {
      report(pod, fmt::format("{} changed after bind from {} to {}", vendor.allocated_key,
                              text::quote(texts.allocated), text::quote(allocated)));
      texts.allocated = allocated;
    }
    check_shrinking(pod, vendor, texts, value_of(pod.annotations, vendor.to_allocate_key));
    if (vendor.mig_key.empty() || book.mig.empty()) continue;
    const auto records = read_mig_records(value_of(pod.annotations, vendor.mig_key));
    const bool same = records && records->size() == book.mig.size() &&
                      std::equal(records->begin(), records->end(), book.mig.begin(),
                                 [](const auto& a, const auto& b) { return a.same_instance(b); });
    if (!same) report(pod, fmt::format("{} changed after bind", vendor.mig_key));
  }
}

/// What is left to allocate only shrinks, an entry either stays or becomes empty.
void InvariantChecker::check_shrinking(const k8s::Pod& pod, const AgentVendor& vendor,
                                       const VendorBook& book, const std::string& now) {
  if (now == book.to_allocate || !book.sound) return;
  const auto before = vendors::decode_pod_devices(book.to_allocate);
  const auto after = vendors::decode_pod_devices(now);
  if (!before || !after)
    return report(
        pod, fmt::format("{} became unreadable: {}", vendor.to_allocate_key, text::quote(now)));
  for (std::size_t i = 0; i < after->size(); ++i) {
    const auto& left = (*after)[i];
    if (left.empty()) continue;
    const bool same = i < before->size() && vendors::encode_pod_devices({left}) ==
                                                vendors::encode_pod_devices({(*before)[i]});
    if (!same)
      report(pod, fmt::format("{} grew from {} to {}", vendor.to_allocate_key,
                              text::quote(book.to_allocate), text::quote(now)));
  }
}

/// Invariant 7: every card that is shared by instances has one reserved for each grant, where no
/// other lies, and the device text says what the instance has.
void InvariantChecker::check_mig(const k8s::Pod& pod, const AgentVendor& vendor, PodBook& book) {
  const std::size_t index = static_cast<std::size_t>(&vendor - vendors_.data());
  const auto records = read_mig_records(value_of(pod.annotations, vendor.mig_key));
  if (!records) return report(pod, fmt::format("{}: {}", vendor.mig_key, records.error().what));
  for (const MigRecord& record : *records) {
    check_instance(pod, record, book.vendors[index]);
    check_overlap(pod, record);
    book.mig.push_back(record);
  }
  const auto positions = vendors::decode_pod_devices(book.vendors[index].allocated);
  const NodeBook& node = nodes_[pod.node_name];
  for (std::size_t c = 0; positions && c < positions->size(); ++c) {
    for (std::size_t d = 0; d < (*positions)[c].size(); ++d) {
      const auto found = node.find((*positions)[c][d].id);
      const bool reserved = std::any_of(records->begin(), records->end(), [&](const MigRecord& r) {
        return r.container == static_cast<std::int64_t>(c) &&
               r.device == static_cast<std::int64_t>(d);
      });
      if (found != node.end() && found->second.device.partitioned() && !reserved)
        report(pod, fmt::format("no instance is reserved on {} for container {}",
                                (*positions)[c][d].id, c));
    }
  }
}

void InvariantChecker::check_instance(const k8s::Pod& pod, const MigRecord& record,
                                      const VendorBook& book) {
  const auto positions = vendors::decode_pod_devices(book.allocated);
  const auto c = static_cast<std::size_t>(record.container);
  const auto d = static_cast<std::size_t>(record.device);
  const bool there = positions && c < positions->size() && d < (*positions)[c].size();
  const vendors::DeviceText* text = there ? &(*positions)[c][d] : nullptr;
  if (text == nullptr || text->id != record.card) {
    return report(pod, fmt::format("instance {} on {} belongs to no entry of {}", record.profile,
                                   record.card, text::quote(book.allocated)));
  }
  const NodeBook& node = nodes_[pod.node_name];
  const auto found = node.find(record.card);
  if (found == node.end() || !found->second.device.partitioned()) return;
  const core::MigProfiles& profiles = *found->second.device.mig;
  const auto profile = std::find_if(profiles.begin(), profiles.end(),
                                    [&](const auto& p) { return p.name == record.profile; });
  if (profile == profiles.end())
    return report(pod, fmt::format("{} offers no profile {}", record.card, record.profile));
  const auto& legal = profile->placements;
  if (std::find(legal.begin(), legal.end(), record.placement) == legal.end())
    report(pod, fmt::format("{} has no place for {} at {}", record.card, record.profile,
                            record.placement.start));
  if (text->memory != profile->memory.v || text->cores != profile->cores.v)
    report(pod,
           fmt::format("device text says {} MiB and {} cores for {}, the profile has {} and {}",
                       text->memory, text->cores, record.profile, profile->memory.v,
                       profile->cores.v));
}

void InvariantChecker::check_overlap(const k8s::Pod& pod, const MigRecord& record) {
  for (const auto& [uid, other] : pods_) {
    if (other.node != pod.node_name) continue;
    for (const MigRecord& held : other.mig) {
      if (held.card != record.card || !held.placement.overlaps(record.placement)) continue;
      report(pod,
             fmt::format("instance {} at {} of {} overlaps {} at {}", record.profile,
                         record.placement.start, record.card, held.profile, held.placement.start));
    }
  }
}

std::vector<core::Charge> InvariantChecker::charges_of(const k8s::Pod& pod,
                                                       const PodBook& book) const {
  core::Allocation allocation{
      .node = pod.node_name, .kinds = {}, .grants = {}, .init_finished = pod.init_finished};
  for (const k8s::Container& c : pod.containers) allocation.kinds.push_back(kind_of(c));
  for (std::size_t v = 0; v < book.vendors.size(); ++v) {
    if (!book.vendors[v].sound) continue;
    const auto positions = vendors::decode_pod_devices(book.vendors[v].allocated);
    for (std::size_t i = 0; positions && i < positions->size(); ++i) {
      for (const vendors::DeviceText& d : (*positions)[i]) {
        core::Grant& grant = allocation.grants.emplace_back();
        grant.position = static_cast<std::uint32_t>(i);
        grant.vendor = {static_cast<decltype(grant.vendor.v)>(v)};
        grant.device = d.id;
        grant.memory = {d.memory};
        grant.cores = {d.cores};
      }
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
void InvariantChecker::check_sums(const k8s::Pod& pod, const PodBook& book, WallTime now) {
  const NodeBook& node = nodes_[book.node];
  for (const core::Charge& c : book.charges) {
    const auto it = node.find(c.device);
    if (it == node.end()) continue;
    const bool recently = now - it->second.changed <= grace_;
    const core::Device d =
        recently ? largest(it->second.device, it->second.before) : it->second.device;
    const core::Usage& u = it->second.used;
    if (!beyond(d, u, vendors_[c.vendor.v])) continue;
    report(pod, fmt::format("device {} over its limits: {}/{} slots, {}/{} MiB, {}/{} cores", d.id,
                            u.slots, d.slots, u.memory.v, d.memory.v, u.cores.v, d.cores.v));
  }
}

/// Invariants 1 and 8.
void InvariantChecker::allocate(const k8s::Pod& pod, std::string_view lock, WallTime now,
                                std::chrono::milliseconds lock_timeout) {
  if (!owned_by(lock, pod)) {
    return report(pod, fmt::format("the lock at the moment of Allocate is {}", text::quote(lock)));
  }
  const Result<WallTime> since = parse_rfc3339(text::split(lock, ',')[0]);
  if (!since) return report(pod, since.error().what);
  if (now - *since > lock_timeout)
    report(pod, fmt::format("the lock is older than {}: {}", format_duration(lock_timeout), lock));
}

/// Invariant 4.
void InvariantChecker::served(const k8s::Pod& pod, std::string_view lock,
                              std::chrono::milliseconds after) {
  if (owned_by(lock, pod))
    report(pod, fmt::format("its lock is still there {} after Allocate has ended: {}",
                            format_duration(after), lock));
}

/// Invariant 8.
void InvariantChecker::lock_seen(const std::string& node, std::string_view lock, WallTime now,
                                 std::chrono::milliseconds oldest) {
  const Result<WallTime> since = parse_rfc3339(text::split(lock, ',')[0]);
  if (!lock.empty() && since && now - *since > oldest)
    note(
        fmt::format("node {}: the lock is older than {}: {}", node, format_duration(oldest), lock));
}

core::Usage InvariantChecker::used(const std::string& node, const std::string& device) const {
  const auto n = nodes_.find(node);
  if (n == nodes_.end()) return {};
  const auto d = n->second.find(device);
  return d == n->second.end() ? core::Usage{} : d->second.used;
}

}  // namespace tessera::sim
