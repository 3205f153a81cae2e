/// A synthetic cluster on the embedded API server in this process, and the filter calls that a
/// kube-scheduler would make for pods that come and go on it. Thread rule: one owner; change() from
/// any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http_load.h"
#include "sim/api_server.h"
#include "sim/synthetic.h"

namespace tessera::bench {

/// Which nodes a call names: `count` from `begin` on, round the end.
struct CallNodes {
  std::int64_t begin = 0, count = 0;
  std::int64_t left_out = -1;  ///< one that is not named
  bool names(std::int64_t n, std::int64_t nodes) const {
    return n >= 0 && n < nodes && n != left_out && (n - begin + nodes) % nodes < count;
  }
};

/// As kube-scheduler looks for nodes: all up to a hundred, else so many percent of them, beginning
/// where it ended.
class Sampling {
 public:
  explicit Sampling(std::int64_t nodes);
  CallNodes next();

 private:
  std::int64_t nodes_, count_, begin_ = 0;
};

struct FilterStageOptions {
  sim::SyntheticOptions cluster;
  std::int64_t api_port = 0;   ///< 0 = any
  std::string kubeconfig_out;  ///< a copy for another extender; "" = none
  bool whole_nodes = false;    ///< bodies hold node objects, as without nodeCacheCapable
};

class FilterStage {
 public:
  static Result<std::unique_ptr<FilterStage>> make(FilterStageOptions options);

  const sim::SyntheticCluster& cluster() const { return cluster_; }
  std::int64_t nodes() const { return cluster_.options().nodes; }
  bool whole_nodes() const { return options_.whole_nodes; }
  sim::ApiServer& api() { return *api_; }
  std::string kubeconfig() const { return api_->kubeconfig(); }
  /// -1: there is no such node.
  std::int64_t node_of(std::string_view name) const;
  CallNodes all_nodes() const { return {.begin = 0, .count = nodes()}; }

  struct Call {
    std::string name, uid, object, body;
    CallNodes nodes;
  };
  std::string next_name() { return "asking-" + std::to_string(++serial_); }
  /// The pod is there for everybody who watches.
  Result<Call> come(const sim::ScenarioPod& pod, const CallNodes& nodes);
  Status go(const Call& call);
  /// A change of the cluster; anything but 2xx is an error.
  Status change(std::string_view method, const std::string& path, const std::string& body = {},
                std::string_view type = "application/merge-patch+json");

 private:
  FilterStage(FilterStageOptions options, sim::SyntheticCluster cluster)
      : options_(std::move(options)), cluster_(std::move(cluster)) {}
  Status fill();
  std::string body_of(const std::string& object, const CallNodes& nodes) const;

  const FilterStageOptions options_;
  SystemClock clock_;
  const sim::SyntheticCluster cluster_;
  std::unique_ptr<sim::ApiServer> api_;
  std::vector<std::string> entries_;  ///< of a body, by node: "name" or the object
  std::string all_entries_;
  std::unordered_map<std::string, std::int64_t> places_;
  std::int64_t serial_ = 0;
};

/// What a filter answer says.
struct FilterVerdict {
  std::int64_t node = -1;  ///< the one it names; -1: none
  std::size_t named = 0;   ///< how many it names
  std::vector<std::int64_t> all_named;
  std::string error;
  std::vector<std::pair<std::int64_t, std::string>> refused;  ///< nodes with their reasons
};
Result<FilterVerdict> read_verdict(const FilterStage& stage, const LoadClient::Answer& answer);

}  // namespace tessera::bench
