// Agents against the embedded API server; the test plays the scheduler: lock, then Binding with
// annotations.
#include "sim/agents.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "json/reader.h"
#include "obs/log.h"
#include "sim/agents_checker.h"
#include "sim/agents_objects.h"
#include "sim/api_server.h"

namespace tessera::sim {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::string_view kDevices = "GPU-0,NVIDIA,1000,10:;";

core::Device card(std::string id, std::string model, std::int64_t memory) {
  core::Device device;
  device.id = std::move(id);
  device.slots = 4;
  device.memory = {memory};
  device.cores = {100};
  device.model = std::move(model);
  device.mode = "hami-core";
  device.healthy = true;
  device.vendor = {0};
  return device;
}

AgentNode two_cards(std::string name) {
  AgentNode node{.name = std::move(name)};
  for (const char* id : {"GPU-0", "GPU-1"}) {
    node.devices.push_back(card(id, "NVIDIA-T4", 16384));
    node.devices.back().index = static_cast<std::uint32_t>(node.devices.size() - 1);
  }
  return node;
}

class AgentsTest : public testing::Test {
 protected:
  AgentsTest() {
    log::set_level(log::Level::kError);
    api_ = std::move(*ApiServer::start({}, clock_));
    client_ = std::make_unique<client::ApiClient>(
        client::Credentials{.server = api_->url()},
        client::ApiClientOptions{.user_agent = "agents", .qps = -1}, metrics_);
  }

  void start(AgentOptions options = {.allocate_delay = 1ms}) {
    agents_ = std::make_unique<Agents>(*client_, std::move(options), clock_);
    const Status added = agents_->add_node(two_cards("n1"));
    ASSERT_TRUE(added) << added.error().what;
    agents_->start();
  }

  /// Values at "a.b.c" of an object; slashes belong to keys, so the separator is '|'.
  std::string read(const std::string& path, std::vector<std::string_view> keys) {
    const ApiServer::Answer answer = api_->request("GET", path);
    json::Parser parser;
    const auto object = parser.parse(std::string_view(answer.body));
    if (answer.status != 200 || !object) return fmt::format("status {}", answer.status);
    json::Value value = *object;
    for (const std::string_view key : keys) value = value[key];
    return std::string(value.string_or(""));
  }
  std::string pod(const std::string& name, std::vector<std::string_view> keys) {
    return read("/api/v1/namespaces/default/pods/" + name, std::move(keys));
  }
  std::string annotation(const std::string& name, std::string_view key) {
    return pod(name, {"metadata", "annotations", key});
  }
  std::string lock() {
    return read("/api/v1/nodes/n1", {"metadata", "annotations", "hami.io/mutex.lock"});
  }

  void create_pod(const std::string& name, std::string_view more_annotations = "",
                  std::string_view containers = R"({"name":"c","image":"i"})") {
    const std::string body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","annotations":{{"x":"y"{}}}}},"spec":{{"containers":[{}]}}}})",
        name, more_annotations, containers);
    ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods", body).status, 201);
  }
  void take_lock(const std::string& owner) {
    const std::string body =
        fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/mutex.lock":"{},default,{}"}}}}}})",
                    format_rfc3339(clock_.wall()), owner);
    ASSERT_EQ(
        api_->request("PATCH", "/api/v1/nodes/n1", body, "application/merge-patch+json").status,
        200);
  }
  void bind(const std::string& name, std::string_view devices = kDevices,
            std::string_view node_key = "n1") {
    const std::string body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{0}","annotations":{{"hami.io/vgpu-node":"{2}","hami.io/bind-phase":"allocating","hami.io/vgpu-devices-allocated":"{1}","hami.io/vgpu-devices-to-allocate":"{1}"}}}},"target":{{"kind":"Node","name":"n1"}}}})",
        name, devices, node_key);
    ASSERT_EQ(
        api_->request("POST", fmt::format("/api/v1/namespaces/default/pods/{}/binding", name), body)
            .status,
        201);
  }

  template <class F>
  bool soon(F f, milliseconds limit = 5s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!f()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  bool soon_in_phase(const std::string& name, std::string_view phase) {
    return soon_in_phase_within(name, phase, 5s);
  }
  bool soon_in_phase_within(const std::string& name, std::string_view phase, milliseconds limit) {
    return soon([&] { return pod(name, {"status", "phase"}) == phase; }, limit);
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<client::ApiClient> client_;
  std::unique_ptr<Agents> agents_;
};

TEST_F(AgentsTest, NodeIsRegisteredAllocatableAndWithoutTaints) {
  start();
  EXPECT_EQ(read("/api/v1/nodes/n1", {"status", "allocatable", "nvidia.com/gpu"}), "8");
  EXPECT_NE(read("/api/v1/nodes/n1", {"metadata", "annotations", "hami.io/node-nvidia-register"})
                .find(R"("id":"GPU-1")"),
            std::string::npos);
  EXPECT_TRUE(agents_->add_node(two_cards("n1"))) << "an agent that starts again finds its node";
}

TEST_F(AgentsTest, ServesByTheLockThenRuns) {
  start();
  create_pod("a");
  take_lock("a");
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  ASSERT_TRUE(soon([&] { return lock().empty(); }));
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "success");
  EXPECT_EQ(annotation("a", "hami.io/vgpu-devices-to-allocate"), ";;");
  EXPECT_EQ(annotation("a", "hami.io/vgpu-devices-allocated"), kDevices);
  EXPECT_EQ(agents_->served(), 1U);
  const AgentNodeView view = agents_->view().at(0);
  EXPECT_EQ(view.used.at(0), (core::Usage{1, {1000}, {10}}));
  EXPECT_EQ(view.pods, 1U);
  EXPECT_EQ(agents_->violations(), std::vector<std::string>{});
}

TEST_F(AgentsTest, PodEndsAfterTheTimeItNamesAndIsDeletedOnRequest) {
  start({.allocate_delay = 1ms, .delete_finished = true});
  create_pod("a", R"(,"simulation.tessera.io/run-for":"30ms")");
  take_lock("a");
  bind("a");
  ASSERT_TRUE(soon([&] { return pod("a", {}) == "status 404"; }));
  EXPECT_EQ(agents_->finished(), 1U);
  ASSERT_TRUE(soon([&] { return agents_->view().at(0).used.at(0) == core::Usage{}; }));
}

TEST_F(AgentsTest, PodWithoutDevicesRunsAtOnce) {
  start();
  create_pod("a");
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods/a/binding",
                          R"({"metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}})")
                .status,
            201);
  EXPECT_TRUE(soon_in_phase("a", "Running"));
}

TEST_F(AgentsTest, DevicePodThatNoSchedulerPlacedFailsAdmission) {
  start();
  create_pod("a", "", R"({"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}})");
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods/a/binding",
                          R"({"metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}})")
                .status,
            201);
  EXPECT_TRUE(soon_in_phase("a", "Failed"));
  EXPECT_EQ(pod("a", {"status", "reason"}), "UnexpectedAdmissionError");
}

TEST_F(AgentsTest, TerminatingPodIsRemoved) {
  start();
  create_pod("a");
  take_lock("a");
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  api_->request("DELETE", "/api/v1/namespaces/default/pods/a");
  EXPECT_TRUE(soon([&] { return pod("a", {}) == "status 404"; }));
}

TEST_F(AgentsTest, SurvivesAnApiServerThatRefusesForAWhile) {
  start();
  create_pod("a");
  take_lock("a");
  api_->inject({.match = "PATCH /api/v1/", .times = 2, .status = 500});
  api_->inject({.match = "PATCH /api/v1/nodes/", .times = 1, .status = 409});
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_TRUE(soon([&] { return lock().empty(); })) << "the lock is released in a later try";
}

TEST_F(AgentsTest, NeverAllocateLeavesThePodAllocatingUntilItIsOver) {
  start();
  agents_->misbehave("n1", Misbehaviour::kNeverAllocate);
  create_pod("a");
  take_lock("a");
  bind("a");
  EXPECT_FALSE(soon([&] { return annotation("a", "hami.io/bind-phase") != "allocating"; }, 100ms));
  agents_->misbehave("n1", Misbehaviour::kNone);
  EXPECT_TRUE(soon_in_phase("a", "Running"));
}

TEST_F(AgentsTest, FailAllocateFailsThePodAndReleasesTheLock) {
  start();
  agents_->misbehave("n1", Misbehaviour::kFailAllocate);
  create_pod("a");
  take_lock("a");
  bind("a");
  EXPECT_TRUE(soon_in_phase("a", "Failed"));
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "failed");
  EXPECT_TRUE(soon([&] { return lock().empty(); }));
  EXPECT_EQ(agents_->served(), 0U);
}

TEST_F(AgentsTest, KeepLockRunsThePodButTheLockStays) {
  start();
  agents_->misbehave("n1", Misbehaviour::kKeepLock);
  create_pod("a");
  take_lock("a");
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_FALSE(soon([&] { return lock().empty(); }, 100ms));
}

TEST_F(AgentsTest, DropRegistrationTakesTheDevicesAwayAndBack) {
  start();
  agents_->misbehave("n1", Misbehaviour::kDropRegistration);
  EXPECT_EQ(read("/api/v1/nodes/n1", {"metadata", "annotations", "hami.io/node-nvidia-register"}),
            "");
  EXPECT_EQ(read("/api/v1/nodes/n1", {"status", "allocatable", "nvidia.com/gpu"}), "0");
  agents_->misbehave("n1", Misbehaviour::kNone);
  EXPECT_NE(read("/api/v1/nodes/n1", {"metadata", "annotations", "hami.io/node-nvidia-register"}),
            "");
  EXPECT_EQ(read("/api/v1/nodes/n1", {"status", "allocatable", "nvidia.com/gpu"}), "8");
}

TEST_F(AgentsTest, ALyingAgentRegistersWhatIsNotThere) {
  start();
  const auto registered = [&] {
    return read("/api/v1/nodes/n1", {"metadata", "annotations", "hami.io/node-nvidia-register"});
  };
  const auto allocatable = [&] {
    return read("/api/v1/nodes/n1", {"status", "allocatable", "nvidia.com/gpu"});
  };
  agents_->misbehave("n1", Misbehaviour::kUnhealthy);
  EXPECT_EQ(registered().find(R"("health":true)"), std::string::npos) << registered();
  agents_->misbehave("n1", Misbehaviour::kShrunk);
  EXPECT_NE(registered().find(R"("devmem":8192)"), std::string::npos) << registered();
  EXPECT_EQ(allocatable(), "2");
  agents_->misbehave("n1", Misbehaviour::kNothingAllocatable);
  EXPECT_NE(registered().find(R"("devmem":16384)"), std::string::npos) << registered();
  EXPECT_EQ(allocatable(), "0");
  agents_->misbehave("n1", Misbehaviour::kNone);
  EXPECT_EQ(allocatable(), "8");
}

TEST_F(AgentsTest, ADeadAgentCostsThePodAndLeavesItsLock) {
  start();
  agents_->misbehave("n1", Misbehaviour::kDead);
  create_pod("a");
  take_lock("a");
  bind("a");
  EXPECT_TRUE(soon_in_phase("a", "Failed"));
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "allocating");
  EXPECT_NE(lock(), "");
}

TEST_F(AgentsTest, ALateAgentServesInTheEnd) {
  start({.allocate_delay = 1ms, .late_delay = 200ms});
  agents_->misbehave("n1", Misbehaviour::kLate);
  create_pod("a");
  take_lock("a");
  bind("a");
  EXPECT_FALSE(soon_in_phase_within("a", "Running", 100ms));
  EXPECT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_TRUE(soon([&] { return lock().empty(); }));
}

TEST_F(AgentsTest, InitContainersEndBeforeTheAppBegins) {
  start({.allocate_delay = 1ms, .init_for = 200ms});
  ASSERT_EQ(
      api_->request(
              "POST", "/api/v1/namespaces/default/pods",
              R"({"metadata":{"name":"a"},"spec":{"initContainers":[{"name":"i","image":"x"}],"containers":[{"name":"c","image":"x"}]}})")
          .status,
      201);
  take_lock("a");
  bind("a", ";GPU-0,NVIDIA,1000,10:;");
  const auto init_state = [&](std::string_view state) {
    const ApiServer::Answer answer = api_->request("GET", "/api/v1/namespaces/default/pods/a");
    return answer.body.find(R"("initContainerStatuses")") != std::string::npos &&
           answer.body.find("\"" + std::string(state) + "\"") != std::string::npos;
  };
  ASSERT_TRUE(soon([&] { return init_state("running"); }));
  EXPECT_EQ(pod("a", {"status", "phase"}), "Pending");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_TRUE(init_state("terminated"));
}

TEST_F(AgentsTest, ALockThatStaysIsToldOnceItsTimeIsOver) {
  start({.allocate_delay = 1ms, .lock_budget = 100ms});
  create_pod("a");
  take_lock("a");
  // The release is refused longer than an agent tries.
  api_->inject({.match = "PATCH /api/v1/nodes/", .times = 5, .status = 409});
  bind("a");
  ASSERT_TRUE(soon([&] { return !agents_->violations().empty(); }));
  EXPECT_NE(agents_->violations()[0].find("its lock is still there"), std::string::npos);
}

/// Two vendors on one node: a registration, a handshake and keys of their own; one lock for both.
class TwoVendorsTest : public AgentsTest {
 protected:
  void start_two() {
    AgentNode node = two_cards("n1");
    node.devices.push_back(card("XPU-0", "XPU", 98304));
    node.devices.back().vendor = {1};
    agents_ = std::make_unique<Agents>(*client_,
                                       AgentOptions{.allocate_delay = 1ms,
                                                    .handshake_period = 50ms,
                                                    .vendors = {nvidia_agent(), xpu_agent()}},
                                       clock_);
    const Status added = agents_->add_node(node);
    ASSERT_TRUE(added) << added.error().what;
    agents_->start();
  }
  std::string node_annotation(std::string_view key) {
    return read("/api/v1/nodes/n1", {"metadata", "annotations", key});
  }
};

TEST_F(TwoVendorsTest, RegisterApartAndAnswerTheHandshake) {
  start_two();
  EXPECT_EQ(read("/api/v1/nodes/n1", {"status", "allocatable", "kunlunxin.com/vxpu"}), "4");
  EXPECT_EQ(read("/api/v1/nodes/n1", {"status", "allocatable", "nvidia.com/gpu"}), "8");
  EXPECT_NE(node_annotation("hami.io/node-register-xpu").find("XPU-0"), std::string::npos);
  EXPECT_EQ(node_annotation("hami.io/node-nvidia-register").find("XPU-0"), std::string::npos);
  const auto answered = [&] {
    return node_annotation("hami.io/node-handshake-xpu").starts_with("Reported 20");
  };
  ASSERT_TRUE(soon(answered));
  ASSERT_EQ(
      api_->request(
              "PATCH", "/api/v1/nodes/n1",
              R"({"metadata":{"annotations":{"hami.io/node-handshake-xpu":"Requesting_2026-08-21 08:00:00"}}})",
              "application/merge-patch+json")
          .status,
      200);
  EXPECT_TRUE(soon(answered));
}

TEST_F(TwoVendorsTest, ServeOnePodOneAfterTheOther) {
  start_two();
  create_pod("a");
  take_lock("a");
  const std::string body =
      R"({"metadata":{"name":"a","annotations":{"hami.io/vgpu-node":"n1","hami.io/bind-phase":"allocating","hami.io/vgpu-devices-allocated":"GPU-0,NVIDIA,1000,10:;","hami.io/vgpu-devices-to-allocate":"GPU-0,NVIDIA,1000,10:;","hami.io/xpu-devices-allocated":"XPU-0,XPU,24576,25:;","hami.io/xpu-devices-to-allocate":"XPU-0,XPU,24576,25:;"}},"target":{"kind":"Node","name":"n1"}})";
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods/a/binding", body).status, 201);
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_EQ(annotation("a", "hami.io/vgpu-devices-to-allocate"), ";;");
  EXPECT_EQ(annotation("a", "hami.io/xpu-devices-to-allocate"), ";;");
  EXPECT_TRUE(soon([&] { return lock().empty(); }));
  EXPECT_EQ(agents_->view().at(0).used.at(2), (core::Usage{1, {24576}, {25}}));
  EXPECT_EQ(agents_->violations(), std::vector<std::string>{});
}

TEST_F(AgentsTest, InstancesGetTheirRuntimeIds) {
  start();
  create_pod(
      "a",
      R"(,"hami.io/vgpu-mig-allocations":"[{\"containerIndex\":0,\"deviceIndex\":0,\"gpuUUID\":\"GPU-0\",\"profile\":\"1g.10gb\",\"placement\":{\"start\":6,\"size\":1}}]")");
  take_lock("a");
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  EXPECT_EQ(
      annotation("a", "hami.io/vgpu-mig-allocations"),
      R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb","placement":{"start":6,"size":1},"migUUID":"MIG-GPU-0-6","gpuInstanceID":7,"computeInstanceID":0}])");
  EXPECT_EQ(agents_->violations(), std::vector<std::string>{});
}

TEST_F(AgentsTest, AllocateWithoutTheLockIsAViolation) {
  start();
  create_pod("a");
  take_lock("somebody-else");
  bind("a");
  ASSERT_TRUE(soon_in_phase("a", "Running"));
  ASSERT_EQ(agents_->violations().size(), 1U);
  EXPECT_NE(agents_->violations()[0].find("the lock at the moment of Allocate is"),
            std::string::npos);
  EXPECT_NE(lock().find("somebody-else"), std::string::npos) << "another's lock is not released";
}

}  // namespace
}  // namespace tessera::sim
