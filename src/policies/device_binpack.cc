// The card that is fullest with the container on it.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class DeviceBinpack final : public core::DevicePolicy {
 public:
  std::string_view name() const override { return "binpack"; }
  std::int64_t key(const core::DeviceView& view) const override {
    return core::load_ppm(view.device, view.after, view.weights);
  }
};

}  // namespace

const core::DevicePolicy& device_binpack() {
  static const DeviceBinpack policy;
  return policy;
}

}  // namespace tessera::policies
