// The node whose devices of the requested vendors are fullest after the placement.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class NodeBinpack final : public core::NodePolicy {
 public:
  std::string_view name() const override { return "binpack"; }
  std::int64_t key(const core::NodeView& view) const override { return view.mean_load_ppm(); }
};

}  // namespace

const core::NodePolicy& node_binpack() {
  static const NodeBinpack policy;
  return policy;
}

}  // namespace tessera::policies
