#include "sim/agents_vendor.h"

#include <fmt/format.h>

namespace tessera::sim {

AgentVendor nvidia_agent() {
  return {.word = "NVIDIA",
          .count_resource = "nvidia.com/gpu",
          .register_key = "hami.io/node-nvidia-register",
          .handshake_key = "",
          .to_allocate_key = "hami.io/vgpu-devices-to-allocate",
          .allocated_key = "hami.io/vgpu-devices-allocated",
          .mig_key = "hami.io/vgpu-mig-allocations"};
}

AgentVendor ascend_agent(std::string_view word) {
  return {.word = std::string(word),
          .count_resource = fmt::format("huawei.com/{}", word),
          .register_key = fmt::format("hami.io/node-register-{}", word),
          .handshake_key = fmt::format("hami.io/node-handshake-{}", word),
          .to_allocate_key = fmt::format("hami.io/{}-devices-to-allocate", word),
          .allocated_key = fmt::format("hami.io/{}-devices-allocated", word),
          .mig_key = "",
          .least_cores = 100};
}

AgentVendor kunlun_agent() {
  return {.word = "kunlun",
          .count_resource = "kunlunxin.com/xpu",
          .register_key = "",
          .handshake_key = "",
          .to_allocate_key = "",
          .allocated_key = "hami.io/kunlun-allocated",
          .mig_key = "",
          .capacity_counts_cards = true,
          .needs_lock = false};
}

AgentVendor xpu_agent() {
  return {.word = "XPU",
          .count_resource = "kunlunxin.com/vxpu",
          .register_key = "hami.io/node-register-xpu",
          .handshake_key = "hami.io/node-handshake-xpu",
          .to_allocate_key = "hami.io/xpu-devices-to-allocate",
          .allocated_key = "hami.io/xpu-devices-allocated",
          .mig_key = "",
          .counts_slots = false,
          .counts_cores = false};
}

}  // namespace tessera::sim
