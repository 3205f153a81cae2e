/// Pods for the end-to-end scenarios, and the books that the bench keeps of where they went: what
/// the API server says of each bound pod is taken at its word and nothing else, least of all the
/// scheduler's. Thread rule: one owner.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live_cluster.h"
#include "sim/synthetic.h"

namespace tessera::bench {

using PodAsk = sim::SyntheticShare;

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
/// The same from the list of the pods as the API server answers it.
Status check_placements(const sim::SyntheticCluster& cluster, std::string_view list,
                        const std::vector<LivePod>& pods,
                        const std::map<std::string, std::string>& nodes);

}  // namespace tessera::bench
