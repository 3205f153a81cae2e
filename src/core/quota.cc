#include "core/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/quota_sum.h"

namespace tessera::core {
namespace {

std::string_view word_of(QuotaKind kind) {
  switch (kind) {
    case QuotaKind::kCount:
      return "cards";
    case QuotaKind::kMemory:
      return "memory";
    case QuotaKind::kCores:
      break;
  }
  return "cores";
}

bool matches(const QuotaScope& scope, const std::string& priority_class) {
  const bool named = !priority_class.empty();
  const bool listed = named && std::find(scope.values.begin(), scope.values.end(),
                                         priority_class) != scope.values.end();
  switch (scope.match) {
    case QuotaScope::Match::kExists:
      return named;
    case QuotaScope::Match::kDoesNotExist:
      return !named;
    case QuotaScope::Match::kIn:
      return listed;
    case QuotaScope::Match::kNotIn:
      break;
  }
  return !listed;
}

/// The operator of a scope selector means something for priority classes only.
bool matches(const QuotaScope& scope, const QuotaSubject& subject) {
  switch (scope.word) {
    case QuotaScope::Word::kTerminating:
      return subject.terminating;
    case QuotaScope::Word::kNotTerminating:
      return !subject.terminating;
    case QuotaScope::Word::kBestEffort:
      return subject.best_effort;
    case QuotaScope::Word::kNotBestEffort:
      return !subject.best_effort;
    case QuotaScope::Word::kPriorityClass:
      break;
  }
  return matches(scope, subject.priority_class);
}

auto order_of(const QuotaSubject& subject) {
  return std::tie(subject.priority_class, subject.terminating, subject.best_effort);
}

/// Adds with the sign; rows that become all zero go.
void merge(QuotaNeeds& into, const QuotaNeeds& needs, std::int64_t sign) {
  for (const QuotaNeed& need : needs) {
    auto at = std::lower_bound(into.begin(), into.end(), need.vendor,
                               [](const QuotaNeed& n, VendorId v) { return n.vendor < v; });
    if (at == into.end() || at->vendor != need.vendor) {
      at = into.insert(at, QuotaNeed{need.vendor, 0, 0, 0});
    }
    at->count += sign * need.count;
    at->memory += sign * need.memory;
    at->cores += sign * need.cores;
    if (at->count == 0 && at->memory == 0 && at->cores == 0) into.erase(at);
  }
}

std::int64_t amount_of(const QuotaNeeds& needs, VendorId vendor, QuotaKind kind) {
  for (const QuotaNeed& need : needs) {
    if (need.vendor == vendor) return need.amount(kind);
  }
  return 0;
}

}  // namespace

std::int64_t QuotaNeed::amount(QuotaKind kind) const {
  switch (kind) {
    case QuotaKind::kCount:
      return count;
    case QuotaKind::kMemory:
      return memory;
    case QuotaKind::kCores:
      break;
  }
  return cores;
}

bool in_scope(const QuotaSpec& quota, const QuotaSubject& subject) {
  return quota.ns == subject.ns &&
         std::all_of(quota.scopes.begin(), quota.scopes.end(),
                     [&](const QuotaScope& scope) { return matches(scope, subject); });
}

std::string words(const QuotaExcess& excess) {
  return fmt::format("quota {} of {}: limit {}, {} used, {} asked", excess.quota,
                     word_of(excess.kind), excess.limit, excess.used, excess.asked);
}

void QuotaBook::set(QuotaSpec quota) {
  ++version_;
  auto& quotas = tenants_[quota.ns].quotas;
  std::string name = quota.name;
  quotas.insert_or_assign(std::move(name), std::move(quota));
}

bool QuotaBook::remove(std::string_view ns, std::string_view name) {
  ++version_;
  const auto tenant = tenants_.find(ns);
  if (tenant == tenants_.end()) return false;
  const auto quota = tenant->second.quotas.find(name);
  if (quota == tenant->second.quotas.end()) return false;
  tenant->second.quotas.erase(quota);
  forget_if_empty(ns);
  return true;
}

void QuotaBook::forget_if_empty(std::string_view ns) {
  const auto tenant = tenants_.find(ns);
  if (tenant->second.groups.empty() && tenant->second.quotas.empty()) tenants_.erase(tenant);
}

void QuotaBook::charge(const QuotaSubject& subject, const QuotaNeeds& needs) {
  if (needs.empty()) return;
  ++version_;
  auto& groups = tenants_[subject.ns].groups;
  auto group = std::lower_bound(groups.begin(), groups.end(), subject,
                                [](const Tenant::Group& g, const QuotaSubject& s) {
                                  return order_of(g.subject) < order_of(s);
                                });
  if (group == groups.end() || !(group->subject == subject)) {
    group = groups.insert(group, Tenant::Group{subject, {}, 0});
  }
  ++group->pods;
  merge(group->used, needs, 1);
}

void QuotaBook::uncharge(const QuotaSubject& subject, const QuotaNeeds& needs) {
  if (needs.empty()) return;
  ++version_;
  const auto tenant = tenants_.find(subject.ns);
  if (tenant == tenants_.end()) return;
  auto& groups = tenant->second.groups;
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& g) { return g.subject == subject; });
  if (group == groups.end()) return;
  merge(group->used, needs, -1);
  if (--group->pods == 0) groups.erase(group);
  forget_if_empty(subject.ns);
}

QuotaNeeds QuotaBook::used_in_scope(const Tenant& tenant, const QuotaSpec& quota) const {
  QuotaNeeds used;
  for (const Tenant::Group& group : tenant.groups) {
    if (in_scope(quota, group.subject)) merge(used, group.used, 1);
  }
  return used;
}

std::optional<QuotaExcess> QuotaBook::excess(const QuotaSubject& subject, const QuotaNeeds& needs,
                                             const QuotaNeeds& freed) const {
  const auto tenant = tenants_.find(subject.ns);
  if (tenant == tenants_.end()) return std::nullopt;
  for (const auto& entry : tenant->second.quotas) {
    const QuotaSpec& quota = entry.second;
    if (!in_scope(quota, subject)) continue;
    const auto in_use = [&](const QuotaLimit& limit) {
      std::int64_t amount = 0;
      for (const Tenant::Group& group : tenant->second.groups) {
        if (in_scope(quota, group.subject))
          amount += amount_of(group.used, limit.vendor, limit.kind);
      }
      return amount;
    };
    for (const QuotaLimit& limit : quota.limits) {
      const std::int64_t asked = amount_of(needs, limit.vendor, limit.kind);
      if (asked == 0) continue;
      const std::int64_t used = in_use(limit) - amount_of(freed, limit.vendor, limit.kind);
      if (saturating_sum(used, asked) <= limit.limit) continue;
      return QuotaExcess{entry.first, limit.vendor, limit.kind, limit.limit, used, asked};
    }
  }
  return std::nullopt;
}

bool QuotaBook::limits(std::string_view ns) const {
  const auto tenant = tenants_.find(ns);
  if (tenant == tenants_.end()) return false;
  const auto& quotas = tenant->second.quotas;
  return std::any_of(quotas.begin(), quotas.end(),
                     [](const auto& entry) { return !entry.second.limits.empty(); });
}

std::vector<QuotaBook::Row> QuotaBook::rows() const {
  std::vector<Row> rows;
  for (const auto& [ns, tenant] : tenants_) {
    for (const auto& [name, quota] : tenant.quotas) {
      rows.push_back({quota, used_in_scope(tenant, quota)});
    }
  }
  return rows;
}

QuotaNeeds QuotaBook::used(std::string_view ns) const {
  const auto tenant = tenants_.find(ns);
  QuotaNeeds used;
  if (tenant == tenants_.end()) return used;
  for (const Tenant::Group& group : tenant->second.groups) merge(used, group.used, 1);
  return used;
}

std::vector<std::string> QuotaBook::namespaces() const {
  std::vector<std::string> names;
  names.reserve(tenants_.size());
  for (const auto& [ns, tenant] : tenants_) names.push_back(ns);
  return names;
}

QuotaBook QuotaBook::with_quotas() const {
  QuotaBook copy;
  copy.version_ = version_;
  for (const auto& [ns, tenant] : tenants_) {
    if (!tenant.quotas.empty()) copy.tenants_.emplace(ns, tenant);
  }
  return copy;
}

bool operator==(const QuotaBook& a, const QuotaBook& b) { return a.tenants_ == b.tenants_; }

}  // namespace tessera::core
