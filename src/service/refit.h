/// The cards of a pod chosen once more on its node, among fewer of them: what a node's agent asks
/// for when kubelet allows only the cards of one NUMA node. Source: public case 140. Thread rule:
/// pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/allocation.h"
#include "core/cluster.h"
#include "core/request.h"

namespace tessera::service {

struct RefitLimits {
  std::optional<std::int64_t> numa;  ///< only cards of this NUMA node
  std::vector<std::string> devices;  ///< only these; vendors of which none is named are free
  std::vector<std::string> exclude;  ///< none of these
};

struct RefitOrder {
  std::string ns, name, uid;  ///< a name, a UID, or both
  std::string node;
  RefitLimits limits;
};

/// {"namespace","name","uid","node","numa","devices","exclude"}; errors name the member.
Result<RefitOrder> read_refit(std::string_view body);

/// Whether a card may serve within the limits.
class AllowedCards {
 public:
  /// kInvalid: an id that no card of the node has, a NUMA node without cards.
  static Result<AllowedCards> of(const core::NodeSpec& node, const RefitLimits& limits);
  bool allows(const core::Grant& grant) const;
  bool allows(const core::Allocation& allocation) const;
  /// The request, with the cards it may have narrowed down. kConflict: a vendor it asks is left
  /// without any.
  Result<core::Request> narrow(core::Request request) const;

 private:
  std::vector<std::string> ids_of(VendorId vendor) const;
  struct Card {
    VendorId vendor;
    std::string id;
  };
  std::vector<Card> cards_;
};

}  // namespace tessera::service
