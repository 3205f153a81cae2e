/// What the benchmarks over HTTP share: a cluster on the embedded API server in this process, the
/// scheduler as a process of its own on it, and the calls that a kube-scheduler would make.
/// Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "child_process.h"
#include "http_load.h"
#include "sim/api_server.h"
#include "sim/synthetic.h"

namespace tessera::bench {

inline constexpr std::int64_t kCards = 8, kCardMemory = 81'920, kPodMemory = 2'000, kPodCores = 10;
inline constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

struct StageOptions {
  std::string program;  ///< "" = the one of this build tree
  std::int64_t nodes = 1000, pods_per_node = 4;
  std::string node_policy = "binpack", device_policy = "spread";
};

/// The cluster and the calls that change it.
class Stage {
 public:
  explicit Stage(StageOptions options);

  Status fill();
  const StageOptions& options() const { return options_; }
  const std::vector<std::string>& names() const { return names_; }
  std::string kubeconfig() const { return api_->kubeconfig(); }
  sim::ApiServer& api() { return *api_; }

  struct Asking {
    std::string name, uid, filter_body;
  };
  /// The predecessor goes, the next pod comes.
  Result<Asking> next_pod();
  Result<std::string> next_call();  ///< its filter body only

 private:
  Status create(std::string_view path, const std::string& object);

  const StageOptions options_;
  SystemClock clock_;
  std::optional<sim::SyntheticCluster> cluster_;  ///< from fill() on
  std::unique_ptr<sim::ApiServer> api_;
  std::vector<std::string> names_;
  std::int64_t serial_ = 0;
};

/// A filter answer that names so many nodes; the error says what it was instead.
Status check_answer(const LoadClient::Answer& answer, std::size_t nodes);
/// The one node that a filter answer names.
Result<std::string> placed_node(const LoadClient::Answer& answer);
/// One entry from 0 to 10 for every host, the best one 10.
Status check_scores(const LoadClient::Answer& answer, const std::vector<std::string>& hosts);
/// The value of a row of a metrics page; -1 when it is not there.
double metric(std::string_view page, std::string_view name_and_labels);

/// A server on the stage's cluster, or on any other, ready.
struct Served {
  std::unique_ptr<ChildProcess> child;
  std::uint16_t port = 0, metrics_port = 0;
};
Result<Served> serve(Stage& stage, const Folder& folder, const std::string& log,
                     const std::vector<std::string>& more);
Result<Served> serve(const std::string& kubeconfig, const std::string& program,
                     const Folder& folder, const std::string& log,
                     const std::vector<std::string>& more,
                     const std::vector<std::string>& environment = {});

}  // namespace tessera::bench
