// The section of the default device configuration, as YAML so that `check-config` and the file
// reader treat it like any other. Values: spec/device-config.md sections 3.1 and 4.1.
#include "vendors/nvidia.h"

namespace tessera::vendors {

std::string_view nvidia_default_text() {
  return R"(nvidia:
  # Resource names: cards, MiB per card, percent of a card's memory, percent of its cores, task priority.
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  resourceMemoryPercentageName: nvidia.com/gpumem-percentage
  resourceCoreName: nvidia.com/gpucores
  resourcePriorityName: nvidia.com/priority
  # Without memory and percentage a container gets the whole card; without cores it may use any.
  defaultMemory: 0
  defaultCores: 0
  # A container that names only memory, percentage or cores asks one card.
  defaultGPUNum: 1
  memoryFactor: 1
  overwriteEnv: false
  gpuCorePolicy: default
  runtimeClassName: ""
  # Read by the node agent.
  deviceSplitCount: 10
  deviceMemoryScaling: 1
  deviceCoreScaling: 1
  preConfiguredDeviceMemory: 0
  libCudaLogLevel: "1"
  enableNumaTopology: false
  migProfileAllowlist:
    - {models: [A30], profiles: [1g.6gb, 2g.12gb, 4g.24gb]}
    - models: [A100-SXM4-40GB, A100-40GB-PCIe, A100-PCIE-40GB]
      profiles: [1g.5gb, 2g.10gb, 3g.20gb, 7g.40gb]
    - models: [A100-SXM4-80GB, A100-80GB-PCIe, A100-PCIE-80GB]
      profiles: [1g.10gb, 2g.20gb, 3g.40gb, 7g.79gb]
    - models: [H100-PCIE-80GB, H100-SXM5-80GB]
      profiles: [1g.10gb, 2g.20gb, 3g.40gb, 7g.80gb]
    - models: [H100-PCIE-94GB, H100-SXM5-94GB]
      profiles: [1g.12gb, 2g.24gb, 3g.47gb, 7g.94gb]
    - models: [H20, H100 on GH200]
      profiles: [1g.12gb, 2g.24gb, 3g.48gb, 7g.96gb]
    - models: [H200 NVL, H200-SXM5]
      profiles: [1g.18gb, 2g.35gb, 3g.71gb, 7g.141gb]
    - models: [B200]
      profiles: [1g.23gb, 2g.45gb, 3g.90gb, 7g.180gb]
    - models: [RTX PRO 6000 Blackwell Server Edition]
      profiles: [1g.24gb, 2g.48gb, 4g.96gb]
)";
}

}  // namespace tessera::vendors
