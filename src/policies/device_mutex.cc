// The card with the fewest sharers. That no used card is taken at all is a check of fit; this key
// orders the cards of vendors that do not check it.
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class DeviceMutex final : public core::DevicePolicy {
 public:
  std::string_view name() const override { return "mutex"; }
  std::int64_t key(const core::DeviceView& view) const override { return -view.before.slots; }
};

}  // namespace

const core::DevicePolicy& device_mutex() {
  static const DeviceMutex policy;
  return policy;
}

}  // namespace tessera::policies
