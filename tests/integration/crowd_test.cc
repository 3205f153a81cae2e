/// Many pods at once with simulated agents: every pod is bound, no bind fails, no device is over
/// its limits, no lock stays.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "harness.h"
#include "sim/agents.h"
#include "sim/synthetic.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CrowdTest : public ClusterTest {
 protected:
  void start_agents(int nodes, int cards, milliseconds delay) {
    client::ApiClientOptions options{.user_agent = "agents"};
    options.qps = -1;
    agent_client_ = std::make_unique<client::ApiClient>(client::Credentials{.server = api_->url()},
                                                        options, metrics_);
    agents_ = std::make_unique<sim::Agents>(*agent_client_,
                                            sim::AgentOptions{.allocate_delay = delay}, clock_);
    sim::SyntheticOptions made{.nodes = nodes, .node_prefix = "n", .node_digits = 1};
    made.cards = {{.model = "NVIDIA-Tesla T4", .count = cards, .memory = 24'576}};
    const auto cluster = sim::SyntheticCluster::make(made);
    ASSERT_TRUE(cluster) << cluster.error().what;
    for (std::int64_t n = 0; n < nodes; ++n) {
      ASSERT_TRUE(agents_->add_node(cluster->agent_node(n)));
      names_.push_back(cluster->node_name(n));
    }
    agents_->start();
  }

  /// Filters one after the other, binds in parallel: as kube-scheduler does.
  void schedule(int pods) {
    std::vector<std::thread> binds;
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("p{}", i);
      const std::string uid = add_pod(name, {.memory = 2000, .cores = 10});
      const FilterAnswer answer = filter(name, names_);
      ASSERT_EQ(answer.names.size(), 1U) << answer.body;
      binds.emplace_back([this, name, uid, node = answer.names[0]] {
        const std::string error = bind(name, uid, node);
        const std::lock_guard guard(mutex_);
        if (!error.empty()) errors_.push_back(name + ": " + error);
      });
    }
    for (std::thread& thread : binds) thread.join();
  }

  void expect_all_served(int pods) {
    EXPECT_TRUE(eventually([&] { return agents_->served() == static_cast<std::uint64_t>(pods); },
                           seconds(20)))
        << agents_->served();
    EXPECT_EQ(errors_, std::vector<std::string>{});
    EXPECT_EQ(agents_->violations(), std::vector<std::string>{});
    for (const std::string& node : names_)
      EXPECT_TRUE(eventually([&] { return !lock_of(node); })) << node;
    EXPECT_EQ(server_->self_check(), "");
  }

  /// The pod that a row of the metrics is about.
  static std::string pod_of(std::string_view row) {
    constexpr std::string_view kLabel = ",pod=\"";
    const std::size_t begin = row.find(kLabel) + kLabel.size();
    return std::string(row.substr(begin, row.find('"', begin) - begin));
  }

  void TearDown() override {
    if (agents_ != nullptr) agents_->stop();
    agents_.reset();
    agent_client_.reset();
  }

  std::unique_ptr<client::ApiClient> agent_client_;
  std::unique_ptr<sim::Agents> agents_;
  std::vector<std::string> names_, errors_;
  std::mutex mutex_;
};

TEST_F(CrowdTest, Case76FortyPodsOnOneNode) {
  start_agents(1, 8, milliseconds(20));
  start_server();
  ASSERT_TRUE(
      eventually([&] { return metric(R"(tessera_cache_objects{resource="nodes"})") == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  schedule(40);
  expect_all_served(40);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(20));
  // Conflicts with the agents' own node writes may cost a call now and then; the normal case is
  // two.
  EXPECT_LE(calls("PATCH nodes") + calls("POST pods/binding") + calls("GET nodes") +
                calls("GET pods") + calls("PATCH pods"),
            88U);
}

TEST_F(CrowdTest, Case76FortyPodsOverTenNodes) {
  start_agents(10, 8, milliseconds(20));
  options_.node_policy = "spread";
  start_server();
  ASSERT_TRUE(
      eventually([&] { return metric(R"(tessera_cache_objects{resource="nodes"})") == 10; }));
  schedule(40);
  expect_all_served(40);
}

TEST_F(CrowdTest, Case177ManyClientsAtOnceAndTheBooksAreTheSumOfTheAnnotations) {
  start_agents(10, 4, milliseconds(2));
  start_server();
  ASSERT_TRUE(
      eventually([&] { return metric(R"(tessera_cache_objects{resource="nodes"})") == 10; }));
  constexpr int kClients = 8, kPodsEach = 25;
  std::atomic<bool> over{false};
  std::thread noise([&] {
    for (int i = 0; !over; ++i) {
      patch_node(names_[static_cast<std::size_t>(i) % names_.size()],
                 fmt::format(R"({{"metadata":{{"annotations":{{"example.com/n":"{}"}}}}}})", i));
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([this, c] {
      for (int i = 0; i < kPodsEach; ++i) {
        const std::string name = fmt::format("c{}-{}", c, i);
        const std::string uid = add_pod(name, {.memory = 500, .cores = 1});
        const FilterAnswer answer = filter(name, names_);
        EXPECT_EQ(answer.names.size(), 1U) << answer.body;
        if (answer.names.size() == 1U && (c + i) % 3 != 0) {
          EXPECT_EQ(bind(name, uid, answer.names[0]), "") << name;
        }
        if ((c + i) % 2 == 0) delete_pod(name);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  over = true;
  noise.join();
  for (const std::string& node : names_)
    EXPECT_TRUE(eventually([&] { return !lock_of(node); })) << node;
  settle();
  EXPECT_EQ(server_->self_check(), "");
  const auto bound_rows = [this] {
    std::vector<std::string> rows;
    const std::string page = get("/metrics").body;
    for (const std::string_view line : text::split(page, '\n')) {
      if (line.rfind("hami_vgpu_memory_allocated_bytes{", 0) == 0 &&
          !bound_node(pod_of(line)).empty())
        rows.emplace_back(line);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const std::vector<std::string> before = bound_rows();
  EXPECT_GT(before.size(), 40U);
  stop_server();  // the next process knows the annotations alone
  start_server();
  EXPECT_EQ(bound_rows(), before);
}

TEST_F(CrowdTest, FaultsInTheMiddleLoseNothing) {
  start_agents(3, 4, milliseconds(5));
  start_server();
  ASSERT_TRUE(
      eventually([&] { return metric(R"(tessera_cache_objects{resource="nodes"})") == 3; }));
  api_->inject({.match = "PATCH /api/v1/nodes", .times = 4, .status = 409});
  api_->inject({.match = "/binding", .times = 3, .drop_after_effect = true});
  std::thread noise([&] {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(milliseconds(60));
      api_->drop_watches();
    }
  });
  schedule(40);
  noise.join();
  expect_all_served(40);
}

}  // namespace
}  // namespace tessera::test
