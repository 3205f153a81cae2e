#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

class FilterTest : public ClusterTest {};

TEST_F(FilterTest, TheAnswerIsOneNodeAndItsSlicesAreReserved) {
  add_node("n1");
  start_server();
  add_pod("a", {.memory = 20'000});
  add_pod("b", {.memory = 20'000});
  const FilterAnswer first = filter("a", {"n1"});
  EXPECT_EQ(
      first.body,
      R"({"Nodes":null,"NodeNames":["n1"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
  const FilterAnswer second = filter("b", {"n1"});
  EXPECT_TRUE(second.names_null);
  EXPECT_EQ(second.failed.at("n1"), "1/1 CardInsufficientMemory");
  // Filter makes no network call but events.
  EXPECT_EQ(calls("PATCH nodes") + calls("PATCH pods") + calls("GET pods") + calls("GET nodes"),
            0U);
  EXPECT_TRUE(eventually([&] { return events("FilteringSucceed").size() == 1; }));
}

TEST_F(FilterTest, Case24ASecondFilterMovesTheReservationInOneStep) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  add_pod("whole", {.memory = 24'576});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(filter("p", {"n2"}).names, std::vector<std::string>{"n2"});
  EXPECT_EQ(filter("whole", {"n1"}).names, std::vector<std::string>{"n1"})
      << "n1 is free already after the second filter";
  EXPECT_EQ(bind("p", uid, "n2"), "");
  EXPECT_EQ(bound_node("p"), "n2");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-node"), "n2");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-allocated"), "n2-card0,NVIDIA,20000,0:;");
}

TEST_F(FilterTest, ABindToAnotherNodeThanTheReservedOneIsRefusedWithBothNames) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("p", uid, "n2"), "pod default/p is reserved on node n1, not on node n2");
  EXPECT_FALSE(lock_of("n2"));
}

TEST_F(FilterTest, ANegativeAnswerEndsTheEarlierReservation) {
  add_node("n1");
  start_server();
  add_pod("p", {.memory = 20'000});
  add_pod("q", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_TRUE(filter("p", {"ghost"}).names_null);
  EXPECT_EQ(filter("q", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(FilterTest, S14ABoundPodIsAnsweredFromTheRecord) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(filter("p", {"n1", "n2"}).names, std::vector<std::string>{"n1"});
  EXPECT_NE(filter("p", {"n2"}).error.find("already bound to node n1"), std::string::npos);
}

TEST_F(FilterTest, Case29ATerminatingPodCountsUntilItIsGone) {
  add_node("n1");
  add_running("a", "n1", 24'000);
  start_server();
  add_pod("b", {.memory = 24'000});
  EXPECT_TRUE(filter("b", {"n1"}).names_null);
  patch_pod("a", R"({"metadata":{"finalizers":["test/hold"]}})");
  api_->request("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0");
  settle();
  EXPECT_TRUE(filter("b", {"n1"}).names_null) << "terminating, but still there";
  patch_pod("a", R"({"metadata":{"finalizers":null}})");
  EXPECT_TRUE(eventually([&] { return !filter("b", {"n1"}).names_null; }));
}

TEST_F(FilterTest, AFinishedPodFreesItsSlices) {
  add_node("n1");
  add_running("a", "n1", 24'000);
  start_server();
  add_pod("b", {.memory = 24'000});
  EXPECT_TRUE(filter("b", {"n1"}).names_null);
  patch_pod("a", R"({"status":{"phase":"Succeeded"}})", "status");
  EXPECT_TRUE(eventually([&] { return !filter("b", {"n1"}).names_null; }));
}

TEST_F(FilterTest, S12DeviceAnnotationsOfAPodThatAsksForNoDeviceAreIgnored) {
  add_node("n1");
  const std::string forged =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"f","namespace":"default","annotations":{"hami.io/vgpu-node":"n1","hami.io/vgpu-devices-allocated":"n1-card0,NVIDIA,24576,100:;"}},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"none"}]}})";
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods", forged).status, 201);
  start_server();
  add_pod("b", {.memory = 24'576});
  EXPECT_EQ(filter("b", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(FilterTest, S3AnnotationsOfAPodThatIsNotBoundReserveNothing) {
  add_node("n1");
  start_server();
  add_pod("old", {.memory = 24'576});
  patch_pod(
      "old",
      R"({"metadata":{"annotations":{"hami.io/vgpu-node":"n1","hami.io/vgpu-devices-allocated":"n1-card0,NVIDIA,24576,0:;"}}})");
  settle();
  add_pod("b", {.memory = 24'576});
  EXPECT_EQ(filter("b", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(FilterTest, S13TheBoundNodeIsChargedWhateverTheAnnotationSays) {
  add_node("n1");
  add_node("n2");
  add_running("a", "n2", 20'000);
  patch_pod("a", R"({"metadata":{"annotations":{"hami.io/vgpu-node":"n1"}}})");
  start_server();
  add_pod("b", {.memory = 20'000});
  EXPECT_EQ(filter("b", {"n1", "n2"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(metric("tessera_pod_node_mismatch_total"), 1);
}

TEST_F(FilterTest, Case28OddAnnotationsOfRunningPodsDoNoHarm) {
  add_node("n1");
  int i = 0;
  for (const char* text :
       {"", ";", "GPU-0", "n1-card0,NVIDIA,1000:;", "n1-card0,NVIDIA,99999999999,0:;", ":::;;;"}) {
    const std::string name = fmt::format("odd{}", i++);
    add_running(name, "n1", 1000);
    patch_pod(
        name,
        fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/vgpu-devices-allocated":"{}"}}}}}})",
                    text));
  }
  add_running("good", "n1", 20'000);
  start_server();
  add_pod("b", {.memory = 20'000});
  add_pod("c", {.memory = 4'000});
  EXPECT_TRUE(filter("b", {"n1"}).names_null) << "the good pod counts";
  EXPECT_EQ(filter("c", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_GE(metric("tessera_pod_annotation_problems_total"), 3);
}

TEST_F(FilterTest, Case26APodOnACardThatIsGoneTakesNothingFromTheOthers) {
  add_node("n1");
  add_running("a", "n1", 20'000);
  patch_pod(
      "a",
      R"({"metadata":{"annotations":{"hami.io/vgpu-devices-allocated":"GPU-old,NVIDIA,20000,0:;"}}})");
  start_server();
  add_pod("b", {.memory = 20'000});
  EXPECT_EQ(filter("b", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(FilterTest, Case90AFreeNodeIsPreferredOverALockedOne) {
  add_node("n1");
  add_node("n2");
  add_running("busy", "n1", 1000);
  add_running("other", "n2", 1000);
  set_lock("n1", lock_text(std::chrono::seconds(1), "default,busy"));
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1", "n2"}).names, std::vector<std::string>{"n2"});
}

TEST_F(FilterTest, ADeletedPodReservesNothing) {
  add_node("n1");
  start_server();
  add_pod("p", {.memory = 20'000});
  const std::string object = pod_text("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  delete_pod("p");
  ASSERT_TRUE(eventually([&] { return metric("tessera_reservations") == 0; }));
  const FilterAnswer late = filter_body(R"({"Pod":)" + object + R"(,"NodeNames":["n1"]})");
  EXPECT_NE(late.error.find("was deleted"), std::string::npos) << late.body;
  EXPECT_EQ(metric("tessera_reservations"), 0);
}

TEST_F(FilterTest, AReservationEndsWithItsTime) {
  options_.reservation_ttl = std::chrono::milliseconds(300);
  add_node("n1");
  start_server();
  add_pod("a", {.memory = 20'000});
  add_pod("b", {.memory = 20'000});
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_TRUE(filter("b", {"n1"}).names_null);
  EXPECT_TRUE(eventually([&] { return metric("tessera_reservations") == 0; }));
  EXPECT_EQ(filter("b", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(FilterTest, AnAttemptThatTheSchedulerGaveUpEndsItsReservation) {
  add_node("n1");
  start_server();
  add_pod("a", {.memory = 20'000});
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  const std::string older = format_rfc3339(clock_.wall() - std::chrono::seconds(60));
  patch_pod(
      "a",
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","lastTransitionTime":"{}"}}]}}}})",
          older),
      "status");
  settle();
  EXPECT_EQ(metric("tessera_reservations"), 1) << "the condition belongs to an earlier attempt";
  const std::string newer = format_rfc3339(clock_.wall() + std::chrono::seconds(2));
  patch_pod(
      "a",
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","lastTransitionTime":"{}"}}]}}}})",
          newer),
      "status");
  EXPECT_TRUE(eventually([&] { return metric("tessera_reservations") == 0; }));
}

TEST_F(FilterTest, NodesComeAndGoAndChangeWithTheirAnnotations) {
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).unresolvable.at("n1"), "node unregistered");
  add_node("n1");
  EXPECT_TRUE(
      eventually([&] { return filter("p", {"n1"}).names == std::vector<std::string>{"n1"}; }));
  patch_node("n1", R"({"metadata":{"annotations":{"hami.io/node-nvidia-register":"[{\"id\":"}}})");
  EXPECT_TRUE(eventually([&] { return filter("p", {"n1"}).names_null; }))
      << "an annotation that cannot be read offers nothing";
  EXPECT_EQ(metric("tessera_node_register_problems_total"), 1);
}

TEST_F(FilterTest, OnlyNodesWithTheAskedLabelsAreKnown) {
  options_.node_label_selector = "pool=gpu,zone=a b";
  add_node("n1");
  add_node("n2");
  patch_node("n1", R"({"metadata":{"labels":{"pool":"gpu","zone":"x"}}})");
  options_.node_label_selector = "pool=gpu";
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1", "n2"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(filter("p", {"n2"}).unresolvable.at("n2"), "node unregistered");
}

TEST_F(FilterTest, MetricsShowDevicesPodsAndDecisions) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 1024, .cores = 30});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  const std::string device =
      R"(device_index="0",device_type="NVIDIA-Tesla T4",device_uuid="n1-card0",node="n1",zone="vGPU"})";
  EXPECT_EQ(metric("hami_gpu_memory_limit_bytes{" + device), 24'576.0 * 1024 * 1024);
  EXPECT_EQ(metric("hami_gpu_core_limit_ratio{" + device), 100);
  EXPECT_EQ(metric("hami_gpu_shared_count{" + device), 1);
  EXPECT_EQ(metric("hami_gpu_core_allocated_ratio{" + device), 30);
  EXPECT_EQ(metric("hami_gpu_memory_allocated_bytes{device_cores=\"100\"," + device),
            1024.0 * 1024 * 1024);
  EXPECT_EQ(
      metric(
          R"(hami_vgpu_memory_allocated_bytes{container_index="0",device_uuid="n1-card0",namespace="default",node="n1",pod="p",zone="vGPU"})"),
      1024.0 * 1024 * 1024);
  EXPECT_EQ(metric(R"(tessera_schedule_attempts_total{result="scheduled",vendor="NVIDIA"})"), 1);
  EXPECT_EQ(metric(R"(tessera_bind_total{result="bound"})"), 1);
  EXPECT_EQ(metric(R"(tessera_extender_request_duration_seconds_count{code="200",verb="filter"})"),
            1);
  EXPECT_EQ(metric("tessera_node_lock_wait_seconds_count"), 1);
  EXPECT_EQ(metric(R"(tessera_cache_objects{resource="nodes"})"), 1);
}

}  // namespace
}  // namespace tessera::test
