/// Pods for the end-to-end scenarios, and the books that the bench keeps of where they went: what
/// the API server says of each bound pod is taken at its word and nothing else, least of all the
/// scheduler's. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "live_cluster.h"

namespace tessera::bench {

struct PodAsk {
  std::int64_t cards = 1, memory = 2'000, cores = 10;  ///< of each card
};

struct LivePod {
  std::string name, uid, object;  ///< object: as the API server has it
  PodAsk ask;
};

struct PodPolicies {
  std::string node, device;  ///< "" = the server's
};

/// `prefix`-0, `prefix`-1 and so on.
Result<std::vector<LivePod>> create_pods(const LiveCluster& cluster, const std::string& prefix,
                                         const std::vector<PodAsk>& asks,
                                         const PodPolicies& policies);

/// Every pod sits on the node that the filter named, on as many cards of that node as it asked for
/// and no card twice, with what it asked for; no card holds more than it has. `nodes` by pod name.
Status check_placements(const LiveCluster& cluster, const std::vector<LivePod>& pods,
                        const std::map<std::string, std::string>& nodes);

}  // namespace tessera::bench
