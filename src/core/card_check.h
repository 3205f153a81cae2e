/// May this card serve this demand? One reason per card, the first that fails, in the order of
/// the fit table (spec/devices, section 10). Thread rule: one object per decision (it remembers the
/// verdict on model texts).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/demand.h"
#include "core/device.h"
#include "core/reject.h"

namespace tessera::core {

bool is_cordoned(const NodeSpec& node, const Device& device);

class CardCheck {
 public:
  CardCheck(const DemandList& list, const Request& request)
      : list_(list), mutex_(request.mutex), mode_(request.mode), models_(list.vendors.size()) {}

  /// Whether the card belongs to those that the pod may look at at all (health, cordon, model,
  /// mode). kCount = yes.
  CardReason eligible(const NodeSpec& node, const Device& device, std::uint32_t vendor);
  CardReason eligible(bool cordoned, const Device& device, std::uint32_t vendor);
  /// What comes before the quota: id lists, slots, mutex. `seen` is what the container finds in
  /// use. kCount = so far it fits.
  CardReason open_for(const Demand& demand, const Device& device, const Usage& seen) const;
  /// What comes after it: memory and cores. On a partitioned card the places of instances decide,
  /// not sums of their rounded figures (N-10); only in HAMi's mode the sums are looked at as well.
  CardReason has_room(const Demand& demand, const Device& device, const Usage& seen) const;
  /// Both, where nothing lies between them: no quota, no instances, no vendor's own check.
  CardReason plainly(const Demand& demand, const Device& device, const Usage& seen) const;

 private:
  struct ModelVerdict {
    SharedText model;
    bool allowed = false;
  };
  bool model_allowed(const Constraints& constraints, std::uint32_t vendor, const SharedText& model);

  const DemandList& list_;
  bool mutex_;
  ScoreMode mode_;
  std::vector<std::vector<ModelVerdict>>
      models_;  ///< by vendor; cards of a cluster have few models
};

}  // namespace tessera::core
