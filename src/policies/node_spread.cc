// The node whose devices of the requested vendors are emptiest after the placement.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class NodeSpread final : public core::NodePolicy {
 public:
  std::string_view name() const override { return "spread"; }
  std::int64_t key(const core::NodeView& view) const override { return -view.mean_load_ppm(); }
};

}  // namespace

const core::NodePolicy& node_spread() {
  static const NodeSpread policy;
  return policy;
}

}  // namespace tessera::policies
