/// A cluster in the test: embedded API server, the scheduler's server on it, and the calls that
/// kube-scheduler and agents would make. Names of fixtures follow the cases: T4 is one card of
/// 24,576 MiB, A100 are cards of 81,920 MiB.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "json/reader.h"
#include "obs/metrics.h"
#include "service/server.h"
#include "sim/api_server.h"

namespace tessera::test {

struct Ask {
  int count = 1;
  int memory = 1000;
  int cores = -1;  ///< -1: left out
};

struct FilterAnswer {
  int status = 0;
  std::string content_type_problem;
  bool names_null = true, nodes_null = true;
  std::vector<std::string> names, nodes;  ///< nodes: names of the objects echoed
  std::map<std::string, std::string> failed, unresolvable;
  std::string error, body;
};

class ClusterTest : public testing::Test {
 protected:
  ClusterTest();
  ~ClusterTest() override;

  /// Options may be changed before; started anew after stop_server() it is another process on the
  /// same cluster.
  void start_server(bool wait_ready = true);
  void stop_server();

  void add_node(const std::string& name, int cards = 1, int memory = 24'576);
  std::string node_json(const std::string& name, int cards, int memory) const;
  /// Creates the pod and returns its UID.
  std::string add_pod(const std::string& name, const Ask& ask = {});
  std::string pod_json(const std::string& name, const Ask& ask) const;
  /// A pod that already runs on a node and holds memory of its first card.
  std::string add_running(const std::string& name, const std::string& node, int memory);
  void delete_pod(const std::string& name);
  std::string pod_text(const std::string& name);  ///< the object as JSON, "" when it does not exist
  std::string pod_field(const std::string& name, const std::vector<std::string>& path);
  std::string annotation(const std::string& name, const std::string& key);
  std::string bound_node(const std::string& name) { return pod_field(name, {"spec", "nodeName"}); }
  std::optional<std::string> lock_of(const std::string& node);
  bool owns_lock(const std::string& pod, const std::string& node = "n1");
  void set_lock(const std::string& node, const std::string& value);
  void remove_lock(const std::string& node);
  std::string lock_text(std::chrono::seconds age,
                        const std::string& owner) const;  ///< owner "default,a"
  void patch_node(const std::string& node, const std::string& merge_patch);
  void patch_pod(const std::string& name, const std::string& merge_patch,
                 const std::string& subresource = {});
  /// What the agent does at the end of Allocate.
  void agent_serves(const std::string& pod, const std::string& node);

  FilterAnswer filter(const std::string& pod, const std::vector<std::string>& names);
  FilterAnswer filter_body(const std::string& body);
  /// "" = bound, else the error.
  std::string bind(const std::string& pod, const std::string& uid, const std::string& node);
  std::future<std::string> bind_later(const std::string& pod, const std::string& uid,
                                      const std::string& node);
  std::string bind_body(const std::string& body);
  client::ApiResponse get(const std::string& path);
  double metric(const std::string& name_and_labels);

  std::uint64_t calls(const std::string& what) const;  ///< "PATCH nodes" by the scheduler
  std::vector<std::string> events(const std::string& reason);
  static bool eventually(const std::function<bool()>& condition,
                         std::chrono::milliseconds limit = std::chrono::seconds(5));
  /// Waits until the server's watch has caught up with everything written so far.
  void settle();

  SystemClock clock_;
  obs::Metrics metrics_;
  std::unique_ptr<sim::ApiServer> api_;
  service::ServeOptions options_;
  std::unique_ptr<service::Server> server_;
  std::unique_ptr<client::ApiClient> http_;
  int settle_serial_ = 0;
};

}  // namespace tessera::test
