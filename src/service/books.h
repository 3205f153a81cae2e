/// Everything the scheduler knows: the cluster's books, what the watches said of pods and nodes,
/// and what was decided here that the watches do not show yet. The latest resourceVersion wins,
/// whether it came by watch or as the answer to one of our own writes. Thread rule: owned by the
/// state thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "core/cluster.h"
#include "obs/metrics.h"
#include "service/facts.h"

namespace tessera::service {

enum class BindStage : std::uint8_t { kNone, kQueued, kActive };

struct PodRecord {
  PodFact fact;                  ///< request and allocation are moved out of it
  bool seen = false;             ///< a watch has shown it; else only a filter or bind call named it
  MonoTime touched{};            ///< last news
  Boxed<core::Request> request;  ///< while not bound
  WallTime reserved_at{};
  BindStage stage = BindStage::kNone;
  std::string bind_node;  ///< while stage is not kNone
};

struct QuotaRecord {
  core::QuotaSpec spec;  ///< as it was handed to the cluster
  std::vector<std::string> warnings;
  std::uint64_t version = 0;
  MonoTime touched{};
};

struct NodeRecord {
  NodeFact fact;  ///< spec is moved into the cluster
  NodeId id;
  MonoTime touched{};
};

/// Uids by their hashes, sorted: eight bytes each where nine of ten pods of a cluster are only
/// counted. Two that share a hash are taken for the same.
class UidHashes {
 public:
  void insert(std::string_view uid) { hashes_.push_back(std::hash<std::string_view>{}(uid)); }
  /// Between insert() and contains().
  void sort() { std::sort(hashes_.begin(), hashes_.end()); }
  bool contains(std::string_view uid) const {
    return std::binary_search(hashes_.begin(), hashes_.end(), std::hash<std::string_view>{}(uid));
  }

 private:
  std::vector<std::size_t> hashes_;
};

class Books {
 public:
  Books(core::VendorTable rules, const Clock& clock, std::chrono::milliseconds reservation_ttl,
        obs::Metrics& metrics, std::chrono::milliseconds tentative_ttl = std::chrono::seconds(30));

  core::Cluster& cluster() { return cluster_; }
  const core::Cluster& cluster() const { return cluster_; }

  // News from the API server.
  void apply(PodFact fact);
  void remove_pod(
      std::string uid);  ///< by value: the caller's text may live in the record that goes
  void apply(NodeFact fact,
             MonoTime list_begin = {});  ///< list_begin: of the list that names it, else zero
  void remove_node(std::string name, std::uint64_t version);
  /// A list that began at `begin` named exactly these: what is older and was not named is gone.
  /// `others` are pods that ask for no device: one that did so by an earlier configuration is
  /// dropped, not deleted.
  void pods_listed(const std::unordered_set<std::string>& uids, MonoTime begin,
                   const UidHashes& others = {});
  void apply(QuotaFact fact);
  void remove_quota(const std::string& ns, const std::string& name, std::uint64_t version);
  void quotas_listed(const std::unordered_set<std::string>& keys, MonoTime begin);  ///< "ns/name"
  void nodes_listed(const std::unordered_set<std::string>& names, MonoTime begin);

  /// The vendor table has changed: everything known is carried over as far as the new table knows
  /// its vendors; a fresh list of pods, nodes and quotas must follow.
  void adopt(const FactReader& before, const FactReader& after);
  /// Puts the plain recomputation in the place of the kept counters (the self-check found them
  /// wrong).
  void repair();
  /// How often the cluster was replaced as a whole: versions of its nodes compare within one.
  std::uint64_t remade() const { return remade_; }

  /// Slices held for a pod while their users are still leaving: nobody else is given any of them,
  /// whatever may be missing there now. A claim stays until end_claim, the pod's Binding or its
  /// end; a reservation takes its place for a time and gives it back when it ends without a
  /// Binding.
  void claim(const PodRecord& pod, core::Allocation allocation, MonoTime deadline);
  void end_claim(const std::string& uid);
  bool claims(const std::string& uid) const { return claims_.contains(uid); }
  /// Claimed and not reserved: the slices may not be free yet.
  bool only_claims(const std::string& uid) const {
    return claims_.contains(uid) && !reserved_.contains(uid);
  }

  // Decisions.
  /// The record of a pod that a call names: made when no watch has shown it yet.
  PodRecord& note_pod(const std::string& ns, const std::string& name, const std::string& uid);
  Status reserve(PodRecord& pod, core::Allocation allocation);
  /// The same for a moment: another node may be chosen yet (D12).
  Status reserve_tentatively(PodRecord& pod, core::Allocation allocation);
  /// It lives its whole time from now on, and that much longer.
  void extend_reservation(const std::string& uid, std::chrono::milliseconds beyond_ttl);
  /// Ends a reservation; what is bound stays.
  void end_reservation(const std::string& uid);
  /// Our own Binding was accepted. False when the pod is gone meanwhile.
  bool bound(const std::string& uid, const std::string& node);
  void expire_reservations();  ///< none while its pod's bind is here (D11)

  PodRecord* pod(const std::string& uid);
  PodRecord* pod_by_name(std::string_view ns, std::string_view name);
  NodeRecord* node(std::string_view name);
  bool deleted_recently(const std::string& uid) const { return deleted_.contains(uid); }
  const std::unordered_map<std::string, PodRecord>& pods() const { return pods_; }
  const std::unordered_map<std::string, NodeRecord>& nodes() const { return nodes_; }
  std::size_t quota_count() const { return quotas_.size(); }
  const std::unordered_set<std::string>& locked_nodes() const { return locked_nodes_; }
  std::size_t reservation_count() const { return reserved_.size(); }

  /// Called after news of a node (also its removal), and of a pod that has changed in a way a lock
  /// depends on.
  std::function<void(const std::string& node)> on_node_change;
  /// Before news of a node are taken over: may close what must not be offered yet.
  std::function<void(NodeFact& fact)> judge_node;
  std::function<void(const PodRecord& pod)> on_pod_change;
  /// There may be more room than before: on a node ("" = not there), or under the quotas of a
  /// namespace ("" = not there).
  std::function<void(std::string_view node, std::string_view ns)> on_room;

 private:
  struct Name {
    std::string_view ns, name;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(const Name& name) const {
      const std::hash<std::string_view> hash;
      return hash(name.name) * 31 + hash(name.ns);
    }
    std::size_t operator()(const PodRecord* pod) const {
      return (*this)(Name{pod->fact.ns, pod->fact.name});
    }
  };
  struct SameName {
    using is_transparent = void;
    static Name name(const PodRecord* pod) { return {pod->fact.ns, pod->fact.name}; }
    static const Name& name(const Name& name) { return name; }
    bool operator()(const auto& a, const auto& b) const {
      return name(a).ns == name(b).ns && name(a).name == name(b).name;
    }
  };
  bool outdated(std::uint64_t generation) const {
    return generation != 0 && generation < generation_;
  }
  bool release(const std::string& uid);
  Status reserve_for(PodRecord& pod, core::Allocation allocation, std::chrono::milliseconds ttl);
  void tell_room(std::string_view node, std::string_view ns) const;
  void erase_record(const std::string& uid);
  void settle(PodRecord& pod, PodFact& fact);
  void settle_unbound(PodRecord& pod, PodFact& fact, bool condition_is_new);
  void settle_bound(PodRecord& pod, PodFact& fact);
  void report_problem(const PodFact& fact, const std::string& before);
  void forget(const std::string& uid);
  void index_name(PodRecord& pod);
  void forget_name(PodRecord& pod);

  core::Cluster cluster_;
  const Clock& clock_;
  std::chrono::milliseconds ttl_, tentative_ttl_;
  std::unordered_map<std::string, PodRecord> pods_;             // by uid
  std::unordered_set<PodRecord*, NameHash, SameName> by_name_;  // the latest of a name
  std::unordered_map<std::string, NodeRecord> nodes_;
  std::unordered_set<std::string> locked_nodes_;
  std::unordered_map<std::string, QuotaRecord> quotas_;  // by "ns/name"
  std::uint64_t remade_ = 0;
  std::uint64_t generation_ = 0;  // facts read before it use other vendor ids
  bool back_to_claim(const std::string& uid);
  std::unordered_set<std::string> reserved_;
  std::unordered_map<std::string, MonoTime> claims_;  // deadlines, by uid
  std::unordered_set<std::string> deleted_;
  std::deque<std::string> deleted_order_;
  obs::Counter bad_annotations_, node_mismatches_, expired_, bad_registers_, bad_labels_;
};

}  // namespace tessera::service
