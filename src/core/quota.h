/// ResourceQuota over device resources: memory, cores and cards of a vendor per namespace, several
/// objects, scopes. One formula counts a pod at the webhook, at the decision and in the books:
/// sidecars + max(largest init container, sum of apps), over all cards of a vendor together.
/// Source: spec/decisions.md D8, spec/scheduler.md S-10, S-11. Thread rule: owned by whoever owns
/// the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "core/quota_types.h"

namespace tessera::core {

struct Allocation;
struct Request;

enum class QuotaKind : std::uint8_t { kCount, kMemory, kCores };

/// What a pod takes of one vendor.
struct QuotaNeed {
  VendorId vendor;
  std::int64_t count = 0;   ///< cards
  std::int64_t memory = 0;  ///< MiB
  std::int64_t cores = 0;   ///< percent
  std::int64_t amount(QuotaKind kind) const;
  friend bool operator==(const QuotaNeed&, const QuotaNeed&) = default;
};
using QuotaNeeds = std::vector<QuotaNeed>;  ///< by vendor id, none all zero

/// Grants of init containers that have finished are not counted; the profile of an instance counts,
/// not what was asked.
QuotaNeeds quota_needs(const Allocation& allocation);
/// Before any card is chosen: a percentage counts as the least it can be, 0.
QuotaNeeds quota_needs(const Request& request);

struct QuotaLimit {
  VendorId vendor;
  QuotaKind kind = QuotaKind::kMemory;
  std::int64_t limit = 0;  ///< MiB (after the vendor's factor), percent or cards
  friend bool operator==(const QuotaLimit&, const QuotaLimit&) = default;
};

struct QuotaScope {
  enum class Word : std::uint8_t {
    kTerminating,
    kNotTerminating,
    kBestEffort,
    kNotBestEffort,
    kPriorityClass
  };
  enum class Match : std::uint8_t { kExists, kDoesNotExist, kIn, kNotIn };
  Word word = Word::kTerminating;
  Match match = Match::kExists;
  std::vector<std::string> values;  ///< of kIn and kNotIn
  friend bool operator==(const QuotaScope&, const QuotaScope&) = default;
};

struct QuotaSpec {
  std::string ns, name;
  std::vector<QuotaLimit> limits;
  std::vector<QuotaScope> scopes;  ///< all must match
  friend bool operator==(const QuotaSpec&, const QuotaSpec&) = default;
};

bool in_scope(const QuotaSpec& quota, const QuotaSubject& subject);

/// The first limit that would be passed.
struct QuotaExcess {
  std::string quota;  ///< name of the object
  VendorId vendor;
  QuotaKind kind = QuotaKind::kMemory;
  std::int64_t limit = 0, used = 0, asked = 0;
};

/// "quota team-a of memory: limit 1000, 800 used, 300 asked".
std::string words(const QuotaExcess& excess);

class QuotaBook {
 public:
  void set(QuotaSpec quota);
  bool remove(std::string_view ns, std::string_view name);
  void charge(const QuotaSubject& subject, const QuotaNeeds& needs);
  void uncharge(const QuotaSubject& subject, const QuotaNeeds& needs);

  /// nullopt = it fits beside what is used, `freed` not counted (the pod's own hold). Where an
  /// amount asked is 0 its limit is not looked at.
  std::optional<QuotaExcess> excess(const QuotaSubject& subject, const QuotaNeeds& needs,
                                    const QuotaNeeds& freed = {}) const;
  /// Any limit in this namespace (quick no for most pods)?
  bool limits(std::string_view ns) const;

  struct Row {
    QuotaSpec quota;
    QuotaNeeds used;  ///< of the pods in scope
  };
  std::vector<Row> rows() const;  ///< by namespace, then name
  /// What all pods of a namespace hold.
  QuotaNeeds used(std::string_view ns) const;
  /// With a quota or with use, in byte order.
  std::vector<std::string> namespaces() const;
  /// A copy of the namespaces that have quotas, for readers elsewhere.
  QuotaBook with_quotas() const;
  /// Grows with every change.
  std::uint64_t version() const { return version_; }
  friend bool operator==(const QuotaBook&, const QuotaBook&);

 private:
  struct Tenant {
    /// Pods of equal subject together: few per namespace.
    struct Group {
      QuotaSubject subject;
      QuotaNeeds used;
      std::int64_t pods = 0;
      friend bool operator==(const Group&, const Group&) = default;
    };
    std::vector<Group> groups;  ///< in order of subject
    std::map<std::string, QuotaSpec, std::less<>> quotas;
    friend bool operator==(const Tenant&, const Tenant&) = default;
  };
  void forget_if_empty(std::string_view ns);
  QuotaNeeds used_in_scope(const Tenant& tenant, const QuotaSpec& quota) const;
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::uint64_t version_ = 0;  // not part of the contents
};

}  // namespace tessera::core
