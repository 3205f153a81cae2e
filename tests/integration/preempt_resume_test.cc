// Preemptions across restarts and changes of the leader.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "json/writer.h"
#include "preempt_world.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PreemptResumeTest : public PreemptTest {
 protected:
  /// high has evicted low, which has 30 seconds to go.
  void half_way() {
    add_node("n1");
    add("low", {.node = "n1", .grace = 30});
    start_server();
    uid_ = add("high", {.priority = 1000});
    add("thief", {.priority = 10});
    settle();
    EXPECT_FALSE(fits("high", {"n1"}));
    ASSERT_TRUE(eventually([&] { return leaving("low"); }));
    ASSERT_TRUE(noted("high"));
  }
  void lands() {
    EXPECT_FALSE(fits("thief", {"n1"}));
    delete_pod("low");
    EXPECT_TRUE(eventually([&] { return !events("PreemptionRoomFree").empty(); }));
    EXPECT_FALSE(fits("thief", {"n1"}));
    EXPECT_TRUE(fits("high", {"n1"}));
    EXPECT_EQ(bind("high", uid_, "n1"), "");
    EXPECT_TRUE(eventually([&] { return !noted("high"); }));
  }
  std::string uid_;
};

TEST_F(PreemptResumeTest, ARestartWhileTheVictimLeavesKeepsTheRoom) {
  half_way();
  stop_server();
  start_server();
  EXPECT_EQ(attempts("resumed"), 1);
  lands();
  EXPECT_EQ(attempts("landed"), 1);
}

TEST_F(PreemptResumeTest, ARestartAfterTheVictimLeftKeepsTheRoom) {
  half_way();
  stop_server();
  delete_pod("low");
  start_server();
  EXPECT_FALSE(fits("thief", {"n1"})) << "the very first call after the start";
  EXPECT_TRUE(fits("high", {"n1"}));
  EXPECT_EQ(bind("high", uid_, "n1"), "");
}

TEST_F(PreemptResumeTest, EvictionsNotYetDoneAreDoneByTheSuccessor) {
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  uid_ = add("high", {.priority = 1000});
  settle();
  api_->inject({.match = "/eviction", .times = -1, .status = 500});
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return calls("POST pods/eviction") > 0; }));
  stop_server();
  ASSERT_FALSE(leaving("low"));
  api_->clear_faults();
  start_server();
  EXPECT_TRUE(eventually([&] { return !exists("low"); })) << "without another filter call";
  EXPECT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid_, "n1"), "");
}

TEST_F(PreemptResumeTest, WhatMakesNoSenseAnyMoreIsGivenUp) {
  add_node("n1");
  add("low", {.node = "n1", .grace = 30});
  const std::string note = R"({"node":"n1","deadline":")";
  struct Row {
    const char* what;
    std::string pod, note;
    int priority;
  };
  const std::string low = pod_field("low", {"metadata", "uid"});
  const auto text = [&](const std::string& node, seconds left) {
    return fmt::format(
        R"({{"node":"{}","deadline":"{}","victims":[{{"uid":"{}","ns":"default","name":"low"}}],"devices":{{"hami.io/vgpu-devices-allocated":"{}-card0,NVIDIA,20000,0:;"}}}})",
        node, format_rfc3339(clock_.wall() + left), low, node);
  };
  const std::vector<Row> rows = {{"not JSON", "broken", "{", 1000},
                                 {"deadline", "late", text("n1", seconds(-5)), 1000},
                                 {"node", "lost", text("n9", seconds(500)), 1000},
                                 {"priority", "equal", text("n1", seconds(500)), 0}};
  for (const Row& row : rows) {
    add(row.pod, {.priority = row.priority});
    json::Writer w;
    w.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    w.key("tessera.io/preemption").string(row.note);
    w.end_object().end_object().end_object();
    patch_pod(row.pod, w.text());
  }
  start_server();
  for (const Row& row : rows) EXPECT_TRUE(eventually([&] { return !noted(row.pod); })) << row.what;
  EXPECT_EQ(attempts("given_up"), 4);
  EXPECT_EQ(attempts("resumed"), 0);
  EXPECT_FALSE(leaving("low"));
  EXPECT_TRUE(eventually([&] { return events("PreemptionEnded").size() == 4; }));
  add("small", {.memory = 4'000});
  EXPECT_TRUE(fits("small", {"n1"}));
}

TEST_F(PreemptResumeTest, ItIsNotTouchedWhereItIsSwitchedOff) {
  half_way();
  stop_server();
  options_.preemption = "off";
  start_server();
  delete_pod("low");
  EXPECT_TRUE(eventually([&] { return fits("thief", {"n1"}); }));
}

TEST_F(PreemptResumeTest, AChangedDeviceConfigurationHalfWayKeepsTheRoom) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("tessera-preempt-{}", getpid());
  std::filesystem::create_directories(folder);
  const auto config = [](int cores) {
    return fmt::format(
        "nvidia:\n  resourceCountName: nvidia.com/gpu\n  resourceMemoryName: nvidia.com/gpumem\n"
        "  resourceMemoryPercentageName: nvidia.com/gpumem-percentage\n"
        "  resourceCoreName: nvidia.com/gpucores\n  resourcePriorityName: nvidia.com/priority\n"
        "  defaultCores: {}\n",
        cores);
  };
  const std::string file = folder / "device-config.yaml";
  options_.config_poll = milliseconds(50);
  options_.device_config = config(0);
  options_.device_config_file = file;
  std::ofstream(file) << config(0);
  half_way();
  std::ofstream(file) << config(1);
  EXPECT_TRUE(eventually(
      [&] { return metric(R"(tessera_device_config_reloads_total{result="applied"})") == 1; }));
  lands();
  stop_server();
  std::filesystem::remove_all(folder);
}

class PreemptLeaderTest : public PreemptResumeTest {
 protected:
  PreemptLeaderTest() {
    options_.leader_elect = true;
    options_.leader_elect_name = "hami-scheduler";
    options_.leader_elect_namespace = "kube-system";
    options_.leader_elect_host = "h1";
  }
  void renew(const std::string& holder) {
    const std::string path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    const std::string spec = fmt::format(
        R"("spec":{{"holderIdentity":"{}","leaseDurationSeconds":60,"renewTime":"2026-08-21T08:00:00.{:06}Z"}})",
        holder, ++renewals_);
    const auto patched = api_->request("PATCH", path + "/hami-scheduler", "{" + spec + "}",
                                       "application/merge-patch+json");
    if (patched.status == 200) return;
    const auto made = api_->request(
        "POST", path,
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"hami-scheduler","namespace":"kube-system"},)" +
            spec + "}");
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void lead() {
    ASSERT_TRUE(eventually([&] {
      renew("h1_a");
      std::this_thread::sleep_for(milliseconds(50));
      return metric("tessera_leader") == 1;
    }));
  }
  int renewals_ = 0;
};

TEST_F(PreemptLeaderTest, TheNextTermGoesOnWhereTheLastOneStopped) {
  add_node("n1");
  add("low", {.node = "n1", .grace = 30});
  renew("h2_b");
  start_server();
  lead();
  uid_ = add("high", {.priority = 1000});
  add("thief", {.priority = 10});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return leaving("low"); }));
  renew("h2_b");
  ASSERT_TRUE(eventually([&] { return metric("tessera_leader") == 0; }));
  EXPECT_EQ(metric("tessera_preemptions_active"), 0);
  EXPECT_TRUE(noted("high")) << "for whoever leads now";
  lead();
  lands();
}

TEST_F(PreemptLeaderTest, NothingIsEvictedAfterTheTerm) {
  add_node("n1");
  add("low", {.node = "n1"});
  renew("h2_b");
  start_server();
  lead();
  uid_ = add("high", {.priority = 1000});
  settle();
  api_->inject({.match = "PATCH /api/v1/namespaces/default/pods/high", .delay = milliseconds(500)});
  EXPECT_FALSE(fits("high", {"n1"}));
  renew("h2_b");
  ASSERT_TRUE(eventually([&] { return metric("tessera_leader") == 0; }));
  std::this_thread::sleep_for(milliseconds(800));
  EXPECT_EQ(calls("POST pods/eviction"), 0U);
  EXPECT_FALSE(leaving("low"));
}

}  // namespace
}  // namespace tessera::test
