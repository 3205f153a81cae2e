// A new vendor table under the books, and the quotas.
#include <algorithm>
#include <utility>
#include <vector>

#include "obs/log.h"
#include "service/books.h"
#include "service/vendor_change.h"

namespace tessera::service {
namespace {

std::string quota_key(std::string_view ns, std::string_view name) {
  std::string key(ns);
  key += '/';
  key += name;
  return key;
}

}  // namespace

void Books::adopt(const FactReader& before, const FactReader& after) {
  const VendorChange change(before.vendors(), after.vendors());
  generation_ = after.generation();
  // Claims may lie over what their victims still hold: they are not reserved anew but put back.
  std::vector<std::pair<PodUid, core::Hold>> claimed;
  for (const auto& [uid, deadline] : claims_) {
    const core::Hold* hold = cluster_.hold({uid});
    if (hold == nullptr) continue;
    core::Hold kept = *hold;
    if (change.allocation(kept.allocation)) claimed.emplace_back(PodUid{uid}, std::move(kept));
  }
  cluster_ = change.cluster(cluster_);
  for (auto& [uid, hold] : claimed) cluster_.restore(uid, std::move(hold));
  ++remade_;
  for (auto& [key, quota] : quotas_) quota.spec = change.quota(quota.spec);
  for (auto& [name, node] : nodes_) node.id = cluster_.find_node(name);
  for (auto& [uid, pod] : pods_) {
    if (pod.request && !change.request(*pod.request)) pod.request.reset();
    if (cluster_.hold({uid}) != nullptr) continue;
    reserved_.erase(uid);
    claims_.erase(uid);
  }
}

void Books::repair() {
  cluster_ = cluster_.rebuild();
  ++remade_;
}

void Books::apply(QuotaFact fact) {
  if (outdated(fact.generation)) return;
  auto [entry, is_new] = quotas_.try_emplace(quota_key(fact.spec.ns, fact.spec.name));
  QuotaRecord& record = entry->second;
  if (!is_new && fact.version != 0 && fact.version < record.version) return;
  record.version = fact.version;
  record.touched = clock_.mono();
  if (fact.warnings != record.warnings) {
    record.warnings = std::move(fact.warnings);
    for (const std::string& warning : record.warnings)
      log::warn("quota is not enforced as written", {{"quota", entry->first}, {"what", warning}});
  }
  // Its status changes with every pod of the namespace; only what it says counts.
  if (!is_new && fact.spec == record.spec) return;
  record.spec = fact.spec;
  const std::string ns = fact.spec.ns;
  if (fact.spec.limits.empty())
    cluster_.remove_quota(ns, fact.spec.name);
  else
    cluster_.set_quota(std::move(fact.spec));
  tell_room({}, ns);
}

void Books::remove_quota(const std::string& ns, const std::string& name, std::uint64_t version) {
  const auto found = quotas_.find(quota_key(ns, name));
  if (found == quotas_.end()) return;
  if (version != 0 && version < found->second.version) return;  // it came back meanwhile
  quotas_.erase(found);
  cluster_.remove_quota(ns, name);
  tell_room({}, ns);
}

void Books::quotas_listed(const std::unordered_set<std::string>& keys, MonoTime begin) {
  std::vector<std::string> gone;
  for (const auto& [key, quota] : quotas_) {
    if (quota.touched < begin && !keys.contains(key)) gone.push_back(key);
  }
  std::sort(gone.begin(), gone.end());
  for (const std::string& key : gone) {
    const std::size_t slash = key.find('/');
    remove_quota(key.substr(0, slash), key.substr(slash + 1), 0);
  }
}

}  // namespace tessera::service
