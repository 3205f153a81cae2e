// The card that is emptiest with the container on it.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class DeviceSpread final : public core::DevicePolicy {
 public:
  std::string_view name() const override { return "spread"; }
  std::int64_t key(const core::DeviceView& view) const override {
    return -core::load_ppm(view.device, view.after, view.weights);
  }
};

}  // namespace

const core::DevicePolicy& device_spread() {
  static const DeviceSpread policy;
  return policy;
}

}  // namespace tessera::policies
