#include "service/books.h"

#include <algorithm>
#include <utility>

#include "obs/log.h"
#include "policies/label_priority.h"
#include "service/keys.h"

namespace tessera::service {
namespace {

/// How many deleted pods are remembered, so that a late call about one of them reserves nothing.
constexpr std::size_t kRememberDeleted = 8192;

std::string key_of(std::string_view ns, std::string_view name) {
  std::string key(ns);
  key += '/';
  key += name;
  return key;
}

bool same_grants(const core::Allocation& a, const core::Allocation& b) {
  return a.node == b.node && a.kinds == b.kinds && a.grants == b.grants &&
         a.stray_mig == b.stray_mig && a.subject == b.subject;
}

}  // namespace

Books::Books(core::VendorTable rules, const Clock& clock, std::chrono::milliseconds reservation_ttl,
             obs::Metrics& metrics, std::chrono::milliseconds tentative_ttl)
    : cluster_(std::move(rules)),
      clock_(clock),
      ttl_(reservation_ttl),
      tentative_ttl_(std::min(tentative_ttl, reservation_ttl)),
      bad_annotations_(
          metrics.counter("tessera_pod_annotation_problems_total",
                          "Bound device pods whose device annotations cannot be read.")),
      node_mismatches_(metrics.counter("tessera_pod_node_mismatch_total",
                                       "Pods bound to another node than their annotation names.")),
      expired_(metrics.counter("tessera_reservations_expired_total",
                               "Reservations that ended because no bind followed in time.")),
      bad_registers_(metrics.counter("tessera_node_register_problems_total",
                                     "Register annotations that could not be read.")),
      bad_labels_(metrics.counter(policies::kPriorityLabelProblems,
                                  policies::kPriorityLabelProblemsHelp)) {}

// ---- room

void Books::tell_room(std::string_view node, std::string_view ns) const {
  if (on_room) on_room(node, ns);
}

/// Ends what the pod holds, in any state.
bool Books::release(const std::string& uid) {
  reserved_.erase(uid);
  claims_.erase(uid);
  const core::Hold* hold = cluster_.hold({uid});
  if (hold == nullptr) return false;
  const std::string node = hold->allocation.node, ns = hold->allocation.subject.ns;
  cluster_.release({uid});
  tell_room(node, ns);
  return true;
}

// ---- pods

void Books::index_name(PodRecord& pod) {
  if (const auto found = by_name_.find(Name{pod.fact.ns, pod.fact.name}); found != by_name_.end())
    by_name_.erase(found);
  by_name_.insert(&pod);
}

/// Before the record goes or its name changes: the index reads the name in the record.
void Books::forget_name(PodRecord& pod) {
  const auto found = by_name_.find(Name{pod.fact.ns, pod.fact.name});
  if (found != by_name_.end() && *found == &pod) by_name_.erase(found);
}

PodRecord& Books::note_pod(const std::string& ns, const std::string& name, const std::string& uid) {
  auto [entry, is_new] = pods_.try_emplace(uid);
  PodRecord& pod = entry->second;
  if (is_new) {
    pod.fact.ns = ns;
    pod.fact.name = name;
    pod.fact.uid = uid;
    pod.fact.asks_devices = true;
    index_name(pod);
  }
  pod.touched = clock_.mono();
  return pod;
}

void Books::apply(PodFact fact) {
  if (fact.uid.empty() || deleted_.contains(fact.uid) || outdated(fact.generation)) return;
  const auto known = pods_.find(fact.uid);
  if (known == pods_.end() && !fact.asks_devices) return;
  if (known != pods_.end() && known->second.seen && fact.version != 0 &&
      fact.version < known->second.fact.version)
    return;
  PodRecord& pod = pods_[fact.uid];
  // A pod that we bound stays bound although an older picture of it is still on its way.
  if (fact.node.empty() && !pod.fact.node.empty()) fact.node = pod.fact.node;
  pod.seen = true;
  pod.touched = clock_.mono();
  settle(pod, fact);
  if (on_pod_change) on_pod_change(pod);
}

void Books::settle(PodRecord& pod, PodFact& fact) {
  const bool condition_is_new =
      fact.unschedulable_since && fact.unschedulable_since != pod.fact.unschedulable_since;
  report_problem(fact, pod.fact.problem);
  if (fact.finished) {
    release(fact.uid);
    pod.request.reset();
  } else if (fact.node.empty()) {
    settle_unbound(pod, fact, condition_is_new);
  } else {
    settle_bound(pod, fact);
  }
  fact.request.reset();
  fact.allocation.reset();
  const bool renamed = pod.fact.name != fact.name || pod.fact.ns != fact.ns;
  if (renamed) forget_name(pod);
  pod.fact = std::move(fact);
  if (renamed) index_name(pod);
}

void Books::settle_unbound(PodRecord& pod, PodFact& fact, bool condition_is_new) {
  if (fact.request) pod.request = std::move(*fact.request);
  // The scheduler has given this attempt up: what was reserved for it is free again.
  if (condition_is_new && pod.stage == BindStage::kNone && reserved_.contains(fact.uid) &&
      *fact.unschedulable_since > pod.reserved_at) {
    end_reservation(fact.uid);
  }
}

void Books::settle_bound(PodRecord& pod, PodFact& fact) {
  pod.request.reset();
  const core::Hold* hold = cluster_.hold({fact.uid});
  if (fact.allocation) {
    if (hold == nullptr || hold->state != core::HoldState::kBound ||
        !same_grants(hold->allocation, *fact.allocation)) {
      cluster_.confirm({fact.uid}, std::move(*fact.allocation));
    }
  } else if (hold != nullptr && hold->state == core::HoldState::kReserved) {
    // Bound without readable annotations: on the reserved node the reservation is the best guess,
    // elsewhere it is void.
    if (hold->allocation.node == fact.node) {
      core::Allocation allocation = hold->allocation;
      cluster_.confirm({fact.uid}, std::move(allocation));
    } else {
      release(fact.uid);
    }
  }
  reserved_.erase(fact.uid);
  claims_.erase(fact.uid);
  const core::Hold* held = cluster_.hold({fact.uid});
  if (fact.init_finished && held != nullptr && !held->allocation.init_finished) {
    cluster_.finish_init({fact.uid});
    tell_room(fact.node, fact.ns);
  }
  const bool told = pod.fact.annotated_node == fact.annotated_node && pod.fact.node == fact.node;
  if (!fact.annotated_node.empty() && fact.annotated_node != fact.node && !told) {
    node_mismatches_.increment();
    log::warn("pod is bound to another node than its annotation names; the bound node counts",
              {{"pod", key_of(fact.ns, fact.name)},
               {"node", fact.node},
               {"annotation", fact.annotated_node}});
  }
}

void Books::report_problem(const PodFact& fact, const std::string& before) {
  if (fact.problem.empty() || fact.problem == before) return;
  if (!fact.node.empty()) bad_annotations_.increment();
  log::warn(fact.node.empty() ? "pod asks for devices in a way that cannot be read"
            : fact.allocation ? "of a bound pod a device annotation cannot be read, the rest counts"
                              : "bound pod is not counted: its device annotations cannot be read",
            {{"pod", key_of(fact.ns, fact.name)},
             {"uid", fact.uid},
             {"node", fact.node},
             {"problem", fact.problem}});
}

void Books::forget(const std::string& uid) {
  release(uid);
  if (deleted_.insert(uid).second) deleted_order_.push_back(uid);
  if (deleted_order_.size() > kRememberDeleted) {
    deleted_.erase(deleted_order_.front());
    deleted_order_.pop_front();
  }
}

void Books::remove_pod(std::string uid) {
  forget(uid);
  erase_record(uid);
}

void Books::erase_record(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  forget_name(found->second);
  const PodRecord gone = std::move(found->second);
  pods_.erase(found);
  if (on_pod_change) on_pod_change(gone);
}

void Books::pods_listed(const std::unordered_set<std::string>& uids, MonoTime begin,
                        const UidHashes& others) {
  std::vector<std::string> gone;
  for (const auto& [uid, pod] : pods_) {
    if (pod.touched < begin && !uids.contains(uid)) gone.push_back(uid);
  }
  std::sort(gone.begin(), gone.end());
  for (const std::string& uid : gone) {
    if (!others.contains(uid)) {
      remove_pod(uid);
    } else {
      release(uid);
      erase_record(uid);
    }
  }
}

PodRecord* Books::pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

PodRecord* Books::pod_by_name(std::string_view ns, std::string_view name) {
  const auto found = by_name_.find(Name{ns, name});
  return found == by_name_.end() ? nullptr : *found;
}

// ---- reservations

Status Books::reserve(PodRecord& pod, core::Allocation allocation) {
  return reserve_for(pod, std::move(allocation), ttl_);
}

Status Books::reserve_tentatively(PodRecord& pod, core::Allocation allocation) {
  return reserve_for(pod, std::move(allocation), tentative_ttl_);
}

Status Books::reserve_for(PodRecord& pod, core::Allocation allocation,
                          std::chrono::milliseconds ttl) {
  PodUid uid{pod.fact.uid};
  const core::Hold* before = cluster_.hold(uid);
  const std::string left = before == nullptr ? std::string() : before->allocation.node;
  Status status = cluster_.reserve(std::move(uid), std::move(allocation), clock_.mono() + ttl);
  if (!status) return status;
  if (!left.empty()) tell_room(left, {});
  reserved_.insert(pod.fact.uid);
  pod.reserved_at = clock_.wall();
  return status;
}

void Books::extend_reservation(const std::string& uid, std::chrono::milliseconds beyond_ttl) {
  if (reserved_.contains(uid)) cluster_.extend({uid}, clock_.mono() + ttl_ + beyond_ttl);
}

void Books::end_reservation(const std::string& uid) {
  if (reserved_.contains(uid) && !back_to_claim(uid)) release(uid);
}

bool Books::bound(const std::string& uid, const std::string& node) {
  PodRecord* record = pod(uid);
  if (record == nullptr || record->fact.finished) return false;
  record->fact.node = node;
  record->fact.bind_phase = kPhaseAllocating;  // as the Binding has written
  record->request.reset();
  record->touched = clock_.mono();
  reserved_.erase(uid);
  claims_.erase(uid);
  const core::Hold* hold = cluster_.hold({uid});
  if (hold != nullptr && hold->state == core::HoldState::kReserved) {
    core::Allocation allocation = hold->allocation;
    cluster_.confirm({uid}, std::move(allocation));
  }
  return true;
}

void Books::expire_reservations() {
  // Released one by one, so that their nodes are known.
  std::vector<PodUid> expired;
  const MonoTime now = clock_.mono();
  for (const std::string& uid : reserved_) {
    const core::Hold* hold = cluster_.hold({uid});
    if (hold == nullptr || hold->state != core::HoldState::kReserved || hold->deadline > now)
      continue;
    const PodRecord* record = pod(uid);
    if (record == nullptr || record->stage == BindStage::kNone) expired.push_back({uid});
  }
  std::sort(expired.begin(), expired.end(),
            [](const PodUid& a, const PodUid& b) { return a.v < b.v; });
  for (const PodUid& uid : expired) {
    end_reservation(uid.v);
    expired_.increment();
    const PodRecord* record = pod(uid.v);
    log::warn(
        "reservation expired: no bind followed",
        {{"uid", uid.v},
         {"pod", record == nullptr ? std::string() : key_of(record->fact.ns, record->fact.name)}});
  }
}

// ---- nodes

void Books::apply(NodeFact fact, MonoTime list_begin) {
  if (fact.name.empty() || outdated(fact.generation)) return;
  auto [entry, is_new] = nodes_.try_emplace(fact.name);
  NodeRecord& record = entry->second;
  // An older picture is dropped, except from a list that began after everything we know: then the
  // server's history itself went back.
  const bool older = !is_new && record.fact.uid == fact.uid && fact.version != 0 &&
                     fact.version < record.fact.version;
  if (older && record.touched >= list_begin) return;
  if (judge_node) judge_node(fact);
  if (fact.problems != record.fact.problems) {
    for (const std::string& problem : fact.problems) {
      bad_registers_.increment();
      log::warn("register annotation cannot be read", {{"node", fact.name}, {"problem", problem}});
    }
  }
  if (!fact.label_problem.empty() && fact.label_problem != record.fact.label_problem) {
    bad_labels_.increment();
    log::warn("priority label of a node cannot be read",
              {{"node", fact.name}, {"problem", fact.label_problem}});
  }
  const bool locked = fact.lock.has_value();
  if (is_new || !core::same_apart_from_lock(cluster_.node(record.id).spec, fact.spec)) {
    record.id = cluster_.set_node(std::move(fact.spec));
    tell_room(fact.name, {});
  }
  cluster_.set_locked(record.id, locked);
  if (locked)
    locked_nodes_.insert(fact.name);
  else
    locked_nodes_.erase(fact.name);
  fact.spec = {};
  record.fact = std::move(fact);
  record.touched = clock_.mono();
  if (on_node_change) on_node_change(record.fact.name);
}

void Books::remove_node(std::string name, std::uint64_t version) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  if (version != 0 && version < found->second.fact.version) return;  // it came back meanwhile
  nodes_.erase(found);
  locked_nodes_.erase(name);
  cluster_.remove_node(name);
  if (on_node_change) on_node_change(name);
}

void Books::nodes_listed(const std::unordered_set<std::string>& names, MonoTime begin) {
  std::vector<std::string> gone;
  for (const auto& [name, node] : nodes_) {
    if (node.touched < begin && !names.contains(name)) gone.push_back(name);
  }
  std::sort(gone.begin(), gone.end());
  for (const std::string& name : gone) remove_node(name, 0);
}

NodeRecord* Books::node(std::string_view name) {
  const auto found = nodes_.find(std::string(name));
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace tessera::service
