// What a ResourceQuota says of devices. Source: spec/decisions.md D8, spec/scheduler.md section 7.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "service/facts.h"

namespace tessera::service {
namespace {

constexpr std::string_view kLimits = "limits.", kRequests = "requests.";

struct Word {
  std::string_view text;
  core::QuotaScope::Word word;
};
constexpr std::array kScopeWords = {
    Word{"Terminating", core::QuotaScope::Word::kTerminating},
    Word{"NotTerminating", core::QuotaScope::Word::kNotTerminating},
    Word{"BestEffort", core::QuotaScope::Word::kBestEffort},
    Word{"NotBestEffort", core::QuotaScope::Word::kNotBestEffort},
    Word{"PriorityClass", core::QuotaScope::Word::kPriorityClass},
};

struct Operator {
  std::string_view text;
  core::QuotaScope::Match match;
};
constexpr std::array kOperators = {
    Operator{"Exists", core::QuotaScope::Match::kExists},
    Operator{"DoesNotExist", core::QuotaScope::Match::kDoesNotExist},
    Operator{"In", core::QuotaScope::Match::kIn},
    Operator{"NotIn", core::QuotaScope::Match::kNotIn},
};

template <class Table>
auto find_word(const Table& table, std::string_view text) {
  const auto* found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.text == text; });
  return found == table.end() ? nullptr : found;
}

/// False: a scope that only kube-apiserver can judge.
bool add_scope(core::QuotaSpec& spec, std::string_view name, std::string_view match,
               json::Value values) {
  const Word* word = find_word(kScopeWords, name);
  const Operator* how = find_word(kOperators, match);
  if (word == nullptr || how == nullptr) return false;
  core::QuotaScope scope{.word = word->word, .match = how->match, .values = {}};
  values.for_each_element([&](json::Value v) { scope.values.emplace_back(v.string_or("")); });
  spec.scopes.push_back(std::move(scope));
  return true;
}

bool read_scopes(json::Value object, QuotaFact& fact) {
  bool known = true;
  const auto add = [&](std::string_view name, std::string_view match, json::Value values) {
    if (add_scope(fact.spec, name, match, values)) return;
    known = false;
    fact.warnings.push_back(
        fmt::format("scope {} {}: not known here, the quota's device limits are not enforced",
                    text::quote(name), text::quote(match)));
  };
  object["scopes"].for_each_element(
      [&](json::Value scope) { add(scope.string_or(""), "Exists", {}); });
  object["scopeSelector"]["matchExpressions"].for_each_element([&](json::Value expression) {
    add(expression["scopeName"].string_or(""), expression["operator"].string_or("Exists"),
        expression["values"]);
  });
  return known;
}

std::optional<core::QuotaKind> kind_of(const vendors::Vendor& vendor, std::string_view resource) {
  if (resource.empty()) return std::nullopt;
  if (resource == vendor.count_resource) return core::QuotaKind::kCount;
  if (resource == vendor.memory_resource) return core::QuotaKind::kMemory;
  if (resource == vendor.core_resource) return core::QuotaKind::kCores;
  return std::nullopt;
}

/// Whole units, rounded down; a memory limit in MiB.
std::int64_t limit_of(const Quantity& value, std::int64_t factor) {
  std::int64_t whole = value.rounded();  // away from zero
  if (!value.integer() && whole > 0 && whole != std::numeric_limits<std::int64_t>::max()) --whole;
  std::int64_t out = 0;
  return __builtin_mul_overflow(whole, std::max<std::int64_t>(factor, 1), &out)
             ? std::numeric_limits<std::int64_t>::max()
             : out;
}

class HardReader {
 public:
  HardReader(const vendors::Vendors& vendors, json::Value hard, QuotaFact& fact)
      : vendors_(vendors), hard_(hard), fact_(fact) {}

  void read() {
    hard_.for_each_member([this](std::string_view key, json::Value value) {
      if (key.substr(0, kLimits.size()) == kLimits)
        limit(key, key.substr(kLimits.size()), value);
      else if (key.substr(0, kRequests.size()) == kRequests)
        request(key, key.substr(kRequests.size()));
    });
  }

 private:
  void limit(std::string_view key, std::string_view resource, json::Value value) {
    for (std::size_t i = 0; i < vendors_.all().size(); ++i) {
      const vendors::Vendor& vendor = vendors_.all()[i];
      const auto kind = kind_of(vendor, resource);
      if (!kind) continue;
      const std::string text(value.string_or(value.literal().value_or("")));
      const Result<Quantity> quantity = Quantity::parse(text);
      if (!quantity) {
        fact_.warnings.push_back(fmt::format("{}: {}", key, quantity.error().what));
        continue;
      }
      const bool memory = *kind == core::QuotaKind::kMemory;
      const std::int64_t limit = limit_of(*quantity, memory ? vendor.memory_factor : 1);
      if (memory && quantity->has_binary_suffix()) {
        fact_.warnings.push_back(fmt::format(
            "{}: {} is {} units of {} MiB, not bytes; write the number of units", key, text,
            quantity->rounded(), std::max<std::int64_t>(vendor.memory_factor, 1)));
      }
      fact_.spec.limits.push_back({VendorId{static_cast<std::uint16_t>(i)}, *kind, limit});
    }
  }

  /// kube-apiserver enforces it on the plain sums; that is not what the pods hold.
  void request(std::string_view key, std::string_view resource) {
    for (const vendors::Vendor& vendor : vendors_.all()) {
      const auto kind = kind_of(vendor, resource);
      if (!kind || *kind == core::QuotaKind::kCount) continue;
      const std::string wanted = std::string(kLimits) + std::string(resource);
      if (!hard_[wanted].missing()) return;
      fact_.warnings.push_back(fmt::format(
          "{}: kube-apiserver counts it without the number of cards; use {}", key, wanted));
      return;
    }
  }

  const vendors::Vendors& vendors_;
  json::Value hard_;
  QuotaFact& fact_;
};

}  // namespace

Result<QuotaFact> FactReader::read_quota(json::Value object) const {
  const json::Value meta = object["metadata"];
  QuotaFact fact;
  fact.generation = generation_;
  fact.version = version_number(meta["resourceVersion"].string_or(""));
  fact.spec.ns = meta["namespace"].string_or("");
  fact.spec.name = meta["name"].string_or("");
  if (fact.spec.ns.empty() || fact.spec.name.empty())
    return fail(Code::kInvalid, "metadata.namespace or metadata.name is missing");
  const json::Value spec = object["spec"];
  HardReader(*vendors_, spec["hard"], fact).read();
  if (fact.spec.limits.empty()) return fact;
  if (!read_scopes(spec, fact)) fact.spec.limits.clear();
  return fact;
}

}  // namespace tessera::service
