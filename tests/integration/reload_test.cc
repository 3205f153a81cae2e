// Another device configuration under a running server (case 176).
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "harness.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

std::string config(int default_memory, const std::string& domain = "nvidia.com",
                   int default_cores = 0) {
  return fmt::format(
      "nvidia:\n  resourceCountName: {0}/gpu\n  resourceMemoryName: {0}/gpumem\n"
      "  resourceMemoryPercentageName: {0}/gpumem-percentage\n  resourceCoreName: {0}/gpucores\n"
      "  resourcePriorityName: {0}/priority\n  defaultMemory: {1}\n  defaultCores: {2}\n"
      "  defaultGPUNum: 1\n",
      domain, default_memory, default_cores);
}

class ReloadTest : public ClusterTest {
 protected:
  ReloadTest() {
    folder_ = fs::temp_directory_path() / fmt::format("tessera-reload-{}-{}", getpid(), serial_++);
    fs::create_directories(folder_);
    options_.config_poll = std::chrono::milliseconds(50);
  }
  ~ReloadTest() override {
    stop_server();
    fs::remove_all(folder_);
  }
  static void write(const fs::path& file, const std::string& text) {
    const fs::path draft = file.string() + ".draft";
    std::ofstream(draft) << text;
    fs::rename(draft, file);
  }
  void start_with(const std::string& text) {
    write(file(), text);
    options_.device_config = text;
    options_.device_config_file = file();
    start_server();
  }
  fs::path file() const { return folder_ / "device-config.yaml"; }
  double applied() { return metric(R"(tessera_device_config_reloads_total{result="applied"})"); }
  double refused() { return metric(R"(tessera_device_config_reloads_total{result="refused"})"); }
  void wait_applied(double times) {
    ASSERT_TRUE(eventually([&] { return applied() == times; })) << applied();
  }
  std::string devices(const std::string& pod) {
    return annotation(pod, "hami.io/vgpu-devices-allocated");
  }

  static inline int serial_ = 0;
  fs::path folder_;
};

TEST_F(ReloadTest, Case176AChangedDefaultTakesEffectWithoutRestart) {
  add_node("n1", 4);
  start_with(config(0));
  const std::string before = add_pod("before", {.memory = 0});
  EXPECT_FALSE(filter("before", {"n1"}).names_null);
  EXPECT_EQ(bind("before", before, "n1"), "");
  EXPECT_EQ(devices("before"), "n1-card0,NVIDIA,24576,0:;");
  agent_serves("before", "n1");
  write(file(), config(1000));
  wait_applied(1);
  const std::string after = add_pod("after", {.memory = 0});
  EXPECT_FALSE(filter("after", {"n1"}).names_null);
  EXPECT_EQ(bind("after", after, "n1"), "");
  EXPECT_NE(devices("after").find(",NVIDIA,1000,0:;"), std::string::npos) << devices("after");
  EXPECT_TRUE(server_->ready());
}

TEST_F(ReloadTest, AnInvalidFileIsRefusedWithLineAndKeyAndChangesNothing) {
  options_.pod_name = "scheduler-0";
  options_.pod_namespace = "default";
  add_node("n1");
  start_with(config(1000));
  write(file(), "nvidia:\n  resourceCountName: nvidia.com/gpu\n  defaultMemory: 12x\n");
  ASSERT_TRUE(eventually([&] { return refused() == 1; }));
  ASSERT_TRUE(eventually([&] { return events("DeviceConfigRefused").size() == 1; }));
  const std::string text = events("DeviceConfigRefused").front();
  EXPECT_NE(text.find("line 3"), std::string::npos) << text;
  EXPECT_NE(text.find("nvidia.defaultMemory"), std::string::npos) << text;
  const std::string uid = add_pod("p", {.memory = 0});
  EXPECT_FALSE(filter("p", {"n1"}).names_null);
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(devices("p"), "n1-card0,NVIDIA,1000,0:;");
  write(file(), "");
  ASSERT_TRUE(eventually([&] { return refused() == 2; }));
  fs::remove(file());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  write(file(), config(2000));
  wait_applied(1);
  EXPECT_EQ(refused(), 2);
}

TEST_F(ReloadTest, LinksThatAreSwappedAreAChange) {
  fs::create_directories(folder_ / "v1");
  fs::create_directories(folder_ / "v2");
  write(folder_ / "v1" / "device-config.yaml", config(1000));
  write(folder_ / "v2" / "device-config.yaml", config(2000));
  fs::create_directory_symlink("v1", folder_ / "..data");
  fs::create_symlink("..data/device-config.yaml", file());
  options_.device_config = config(1000);
  options_.device_config_file = file();
  add_node("n1");
  start_server();
  fs::create_directory_symlink("v2", folder_ / "..tmp");
  fs::rename(folder_ / "..tmp", folder_ / "..data");
  wait_applied(1);
  const std::string uid = add_pod("p", {.memory = 0});
  EXPECT_FALSE(filter("p", {"n1"}).names_null);
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(devices("p"), "n1-card0,NVIDIA,2000,0:;");
}

TEST_F(ReloadTest, ASignalLooksAtOnce) {
  options_.config_poll = std::chrono::hours(1);
  add_node("n1");
  start_with(config(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the first look
  write(file(), config(1000));
  server_->reload_device_config();
  wait_applied(1);
}

TEST_F(ReloadTest, OtherResourceNamesAreServedAndTheOldOnesNoLonger) {
  add_node("n1");
  ASSERT_EQ(api_->request("PATCH", "/api/v1/nodes/n1/status",
                          R"({"status":{"allocatable":{"example.com/gpu":"10"}}})",
                          "application/merge-patch+json")
                .status,
            200);
  start_with(config(0));
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"c","image":"none","resources":{"limits":{"example.com/gpu":"1","example.com/gpumem":"3000"}}}]}})";
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods", pod).status, 201);
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(metric("tessera_reservations"), 0) << "no device pod by the first configuration";
  write(file(), config(0, "example.com"));
  wait_applied(1);
  EXPECT_TRUE(eventually([&] {
    return filter("p", {"n1"}).names == std::vector<std::string>{"n1"} &&
           metric("tessera_reservations") == 1;
  }));
}

TEST_F(ReloadTest, WhatRunsAndWhatIsReservedStaysCounted) {
  add_node("n1", 2);
  add_running("a", "n1", 24'000);
  start_with(config(0));
  add_pod("b", {.memory = 24'000});
  EXPECT_FALSE(filter("b", {"n1"}).names_null);
  write(file(), config(0, "nvidia.com", 10));
  wait_applied(1);
  add_pod("c", {.memory = 24'000});
  EXPECT_TRUE(filter("c", {"n1"}).names_null) << "one card is used, one reserved";
  EXPECT_EQ(metric("tessera_reservations"), 1);
}

TEST_F(ReloadTest, ABindThatWaitsForItsLockIsFinished) {
  add_node("n1");
  add_running("busy", "n1", 100);
  set_lock("n1", lock_text(std::chrono::seconds(1), "default,busy"));
  patch_pod("busy", R"({"metadata":{"annotations":{"hami.io/bind-phase":"allocating"}}})");
  start_with(config(0));
  const std::string uid = add_pod("p", {.memory = 1000});
  EXPECT_FALSE(filter("p", {"n1"}).names_null);
  std::future<std::string> bound = bind_later("p", uid, "n1");
  EXPECT_TRUE(eventually([&] { return metric("tessera_bind_queue_length") == 1; }))
      << get("/metrics").body;
  write(file(), config(500));
  wait_applied(1);
  agent_serves("busy", "n1");
  EXPECT_EQ(bound.get(), "");
  EXPECT_EQ(devices("p"), "n1-card0,NVIDIA,1000,0:;");
}

}  // namespace
}  // namespace tessera::test
