#include "service/budgets.h"

#include <algorithm>
#include <utility>

#include "service/facts.h"

namespace tessera::service {
namespace {

std::string key_of(const std::string& ns, const std::string& name) { return ns + "/" + name; }

}  // namespace

void Budgets::number_rows() {
  std::uint32_t place = 0;
  for (auto& [key, row] : rows_) row.place = place++;
}

void Budgets::apply(k8s::PodDisruptionBudget budget) {
  const std::uint64_t version = version_number(budget.resource_version);
  auto [entry, is_new] = rows_.try_emplace(key_of(budget.ns, budget.name));
  Row& row = entry->second;
  if (!is_new && version != 0 && version < row.version) return;
  row.budget = std::move(budget);
  row.version = version;
  row.touched = clock_.mono();
  if (is_new) number_rows();
}

void Budgets::remove(const std::string& ns, const std::string& name, std::uint64_t version) {
  const auto found = rows_.find(key_of(ns, name));
  if (found == rows_.end()) return;
  if (version != 0 && version < found->second.version) return;  // it came back meanwhile
  rows_.erase(found);
  number_rows();
}

void Budgets::listed(const std::unordered_set<std::string>& keys, MonoTime begin) {
  std::erase_if(rows_, [&](const auto& entry) {
    return entry.second.touched < begin && !keys.contains(entry.first);
  });
  number_rows();
}

std::vector<std::int64_t> Budgets::allowed() const {
  std::vector<std::int64_t> out;
  out.reserve(rows_.size());
  for (const auto& [key, row] : rows_)
    out.push_back(std::max<std::int64_t>(row.budget.disruptions_allowed, 0));
  return out;
}

std::vector<std::uint32_t> Budgets::over(const std::string& ns,
                                         const k8s::StringMap& labels) const {
  std::vector<std::uint32_t> places;
  const std::string prefix = ns + "/";
  for (auto at = rows_.lower_bound(prefix); at != rows_.end() && at->first.starts_with(prefix);
       ++at) {
    const auto& selector = at->second.budget.selector;
    if (selector && selector->selects(labels)) places.push_back(at->second.place);
  }
  return places;
}

}  // namespace tessera::service
