/// The program under test on a large cluster: started with a clock, its memory read, its books
/// compared with what is on the cluster. Thread rule: one owner.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "child_process.h"
#include "large_cluster.h"

namespace tessera::bench {

struct LargeServer {
  std::unique_ptr<ChildProcess> child;
  std::uint16_t port = 0, metrics_port = 0;
  double seconds = 0;  ///< from the start of the process to the first 200 of /readyz
};

/// `program` "" = the one of this build tree.
Result<LargeServer> start_server(const LargeCluster& cluster, const Folder& folder,
                                 const std::string& program);

/// Waits until the process has caught up: it does next to nothing for a while.
void wait_quiet(const ChildProcess& child);

/// Every card shows exactly what its pods hold, no object is missing, nothing was unreadable, the
/// self-check found no difference. Waits a while for it. Returns how many cards were looked at.
Result<std::int64_t> check_books(const LargeServer& server, const LargeCluster& cluster);

/// What is wrong with that metrics page, by the same rule; "" when it is right.
std::string page_fault(std::string_view page, const sim::SyntheticCluster& cluster);

/// In MB of 10^6 bytes: "VmRSS" or "VmHWM".
double memory_mb(const ChildProcess& child, std::string_view name);

}  // namespace tessera::bench
