/// May this card serve this demand? One reason per card, the first that fails, in the order of
/// section 10 of the vendor page. Thread rule: one object per decision (it remembers the verdict on
/// model texts).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/demand.h"
#include "core/device.h"
#include "core/ledger.h"
#include "core/reject.h"

namespace tessera::core {

class CardCheck {
 public:
  explicit CardCheck(const DemandList& list) : list_(list), models_(list.vendors.size()) {}

  /// Whether the card belongs to those that the pod may look at at all (health, cordon, model,
  /// mode). kCount = yes.
  CardReason eligible(const NodeSpec& node, const Device& device, std::uint32_t vendor);
  /// Everything after that, against what the container finds in use. kCount = the card fits.
  CardReason has_room(const Demand& demand, const Device& device, const Usage& seen) const;

 private:
  struct ModelVerdict {
    std::string model;
    bool allowed = false;
  };
  bool model_allowed(const Constraints& constraints, std::uint32_t vendor,
                     const std::string& model);

  const DemandList& list_;
  std::vector<std::vector<ModelVerdict>>
      models_;  ///< by vendor; cards of a cluster have few models
};

}  // namespace tessera::core
