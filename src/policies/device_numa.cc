// The card of the highest NUMA node, as users of HAMi know the word "numa" in a chain.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class DeviceNuma final : public core::DevicePolicy {
 public:
  std::string_view name() const override { return "numa"; }
  std::int64_t key(const core::DeviceView& view) const override { return view.device.numa; }
};

}  // namespace

const core::DevicePolicy& device_numa() {
  static const DeviceNuma policy;
  return policy;
}

}  // namespace tessera::policies
