// A word without an order of its own: it asks for the set of cards with the best links
// (core/topology.h). In a chain all cards are equal to it.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class DeviceTopology final : public core::DevicePolicy {
 public:
  std::string_view name() const override { return "topology-aware"; }
  std::int64_t key(const core::DeviceView& /*view*/) const override { return 0; }
};

}  // namespace

const core::DevicePolicy& device_topology() {
  static const DeviceTopology policy;
  return policy;
}

}  // namespace tessera::policies
