/// Inside of place_oracle(): one node as one pod finds it, by plain loops over the holds. Which
/// cards may serve, which instance, what the quota says. Written apart from the ledger, the fitter
/// and the kept books so that a mistake in one of them shows. Thread rule: plain object of one
/// caller.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/cluster.h"
#include "core/demand.h"
#include "core/reject.h"
#include "core/request.h"

namespace tessera::core::oracle {

/// An ask of one container.
struct Want {
  std::size_t at = 0;  ///< its number; the same in Cards::demands()
  std::uint32_t position = 0;
  PositionKind kind = PositionKind::kApp;
  DeviceAsk ask;
  std::size_t count() const { return static_cast<std::size_t>(ask.count); }
};

struct Chosen {
  std::size_t device = 0;
  Grant grant;
  PositionKind kind = PositionKind::kApp;
};

/// Smaller is better.
struct Option {
  std::vector<std::int64_t> keys;  ///< negated
  std::uint32_t index = 0;
  std::size_t device = 0;
  auto operator<=>(const Option&) const = default;
};

Usage plus(Usage a, const Usage& b);
/// sidecars and instances + max(largest init container, all apps) on one device.
Usage footprint(std::size_t device, const std::vector<Chosen>& list);

class Cards {
 public:
  Cards(const Cluster& cluster, const Request& request, NodeId node);

  const NodeSpec& spec() const { return spec_; }
  const Usage& base(std::size_t device) const { return base_[device]; }
  const std::vector<Usage>& base() const { return base_; }
  std::size_t cards_of(VendorId vendor) const;
  /// The vendor's cards, best first by the policies; `chosen` is what the pod has already.
  std::vector<Option> ordered(const Want& want, const std::vector<Chosen>& chosen) const;

  /// Health, cordon, model, mode: what no other pod can change.
  CardReason standing(std::size_t device, const Want& want) const;
  /// May the container take (one more slice of) the card? `before` is what the pod had when the
  /// container's turn came, `beside` what it has now, `paying` what counts for the quota.
  CardReason verdict(std::size_t device, const Want& want, const std::vector<Chosen>& before,
                     const std::vector<Chosen>& beside, const std::vector<Chosen>& paying) const;
  Usage in_use(std::size_t device, const Want& want, const std::vector<Chosen>& list) const;
  /// The slice of the card that the container would have.
  Chosen slice(std::size_t device, const Want& want, const std::vector<Chosen>& beside) const;

  bool bound_to_numa(const Want& want) const;
  VendorRules rules(VendorId vendor) const;
  /// The same asks as the vendors' hooks want them.
  const DemandList& demands() const { return demands_; }
  const AskedVendor& asked(const Want& want) const {
    return demands_.vendors[demands_.demands[want.at].vendor];
  }
  const Constraints* constraints(VendorId vendor) const;
  bool hami() const { return request_.mode == ScoreMode::kHami; }

 private:
  void read_holds(const Cluster& cluster, NodeId node);
  void read_quotas(const Cluster& cluster);
  bool allowed_ids(const Device& device, const Want& want) const;
  std::optional<MigSlice> instance(std::size_t device, const Want& want,
                                   const std::vector<Chosen>& beside) const;
  bool affordable(const std::vector<Chosen>& paying, const Chosen& more) const;
  CardReason room(const Device& device, const Want& want, const Usage& use) const;
  CorePercent total_cores(const Device& device, const Want& want) const;

  struct Budget {
    QuotaLimit limit;
    std::int64_t used = 0;
  };
  const VendorTable& table_;
  const Request& request_;
  const NodeSpec& spec_;
  DemandList demands_;
  std::vector<Usage> base_;
  std::vector<std::vector<MigPlacement>> occupied_;
  std::vector<bool> closed_;  ///< somebody uses the card in a way that instances do not explain
  std::vector<Budget> budgets_;
};

}  // namespace tessera::core::oracle
