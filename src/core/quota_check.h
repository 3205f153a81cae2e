/// Whether the slices taken so far stay within the quotas of the pod's namespace, with what the pod
/// held before counted as free. Remembers its last verdicts: most nodes ask the same question.
/// Source: spec/scheduler.md S-10, S-11. Thread rule: one object per decision; cluster and request
/// must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster.h"
#include "core/demand.h"
#include "core/ledger.h"
#include "core/quota.h"

namespace tessera::core {

class QuotaCheck {
 public:
  QuotaCheck(const Cluster& cluster, const Request& request);

  /// False: no limit in this namespace, nothing need be asked.
  bool active() const { return active_; }
  /// May `taken` and one more slice for this demand be held together?
  bool allows(const DemandList& list, std::span<const Ledger::Entry> taken, const Demand& demand,
              const Ledger::Slice& slice);
  /// Even the least that the pod can take is too much: no choice of cards helps.
  bool hopeless();

 private:
  struct Item {
    VendorId vendor;
    std::uint32_t position = 0;
    MiB memory;
    CorePercent cores;
    bool instance = false;
    friend bool operator==(const Item&, const Item&) = default;
  };
  struct Verdict {
    std::vector<Item> items;
    bool allowed = false;
  };
  bool ask() const;

  const Cluster& cluster_;
  const Request& request_;
  bool active_ = false;
  QuotaNeeds freed_;
  Allocation trial_;  ///< kinds only; the grants are made for each question
  std::vector<Item> items_;
  std::vector<Verdict> known_;
  std::optional<bool> hopeless_;
};

}  // namespace tessera::core
