/// Another extender, which the person who measures has started, on the cluster of the bench.
/// Thread rule: one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "filter_stage.h"

namespace tessera::bench {

struct ExtenderUrl {
  std::uint16_t port = 0;
  std::string path;  ///< before "/filter": "" or "/prefix"
};
/// http://127.0.0.1:PORT[/prefix]: both are measured on the same machine, over loopback.
Result<ExtenderUrl> parse_extender_url(std::string_view url);

/// Says on standard error what it waits for, then waits until the extender answers, places a pod
/// and knows all nodes; at most `patience`.
Result<std::unique_ptr<LoadClient>> wait_for_extender(FilterStage& stage, const ExtenderUrl& url,
                                                      const std::string& kubeconfig_out,
                                                      std::chrono::seconds patience);

}  // namespace tessera::bench
