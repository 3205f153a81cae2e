// Pages of metrics from pictures: names and labels of HAMi, what is corrected, and what the state
// thread has to do for a page.
#include "service/scrape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "service/scrape_text.h"
#include "vendors/config.h"

namespace tessera::service {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

vendors::Vendors table() {
  return *vendors::Vendors::make(vendors::parse_device_config(vendors::default_device_config(),
                                                              {.ascend = true, .iluvatar = true})
                                     .config);
}

core::Device card(std::string id, std::int64_t memory = 16'000) {
  core::Device device;
  device.id = std::move(id);
  device.slots = 10;
  device.memory = {memory};
  device.cores = {100};
  device.model = "Tesla T4";
  device.healthy = true;
  device.vendor = {0};
  return device;
}

ScrapePod pod_on(const std::string& card_id, std::string name = "p") {
  ScrapePod pod{.ns = "team", .name = std::move(name), .node = "n1", .containers = {"init", "app"}};
  pod.charges = {{.vendor = {0}, .device = card_id, .usage = {1, {4000}, {30}}}};
  pod.grants = {{.position = 1, .vendor = {0}, .device = card_id, .memory = {4000}, .cores = {30}}};
  return pod;
}

ScrapeNode node_with(std::vector<core::Device> devices, std::string name = "n1") {
  ScrapeNode node{.name = std::move(name), .present = true, .devices = std::move(devices)};
  node.used.assign(node.devices.size(), {1, {4000}, {30}});
  node.offered = {true};
  return node;
}

ScrapePicture picture_of(const std::vector<ScrapeNode>& nodes) {
  ScrapePicture picture;
  for (const ScrapeNode& node : nodes) {
    picture.nodes.push_back(pack(node));
  }
  return picture;
}

ScrapePage page_of(const ScrapePicture& picture, bool legacy = false) {
  return picture_page(picture, table(), "1.2.3", legacy);
}

std::vector<std::string> lines_of(const std::string& page, std::string_view start) {
  std::vector<std::string> out;
  for (const std::string_view line : text::split(page, '\n')) {
    if (line.starts_with(start)) out.emplace_back(line);
  }
  return out;
}

TEST(ScrapePage, EveryNameAndLabelOfHami) {
  ScrapeNode node = node_with({card("GPU-1")});
  node.pods = {pod_on("GPU-1")};
  const std::string text = page_of(picture_of({node})).text;
  const std::string device =
      R"(device_index="0",device_type="Tesla T4",device_uuid="GPU-1",node="n1",zone="vGPU"})";
  const std::string pod =
      R"({container_index="0",device_uuid="GPU-1",namespace="team",node="n1",pod="p",zone="vGPU"})";
  for (const std::string& line : {
           "hami_gpu_memory_limit_bytes{" + device + " 16777216000",
           "hami_gpu_core_limit_ratio{" + device + " 100",
           R"(hami_gpu_memory_allocated_bytes{device_cores="100",)" + device + " 4194304000",
           "hami_gpu_shared_count{" + device + " 1",
           "hami_gpu_core_allocated_ratio{" + device + " 30",
           R"(hami_node_gpu_overview{device_cores="100",device_memory_limit="16000",)" + device +
               " 4194304000",
           "hami_node_gpu_memory_allocated_ratio{" + device + " 0.25",
           "hami_vgpu_memory_allocated_bytes" + pod + " 4194304000",
           "hami_vgpu_core_allocated_ratio" + pod + " 30",
       }) {
    EXPECT_THAT(text, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_THAT(text, HasSubstr(R"(hami_build_info{version="1.2.3",revision=)"));
}

TEST(ScrapePage, Case165OldNamesOnlyWithTheFlagAndWithTheSameValues) {
  ScrapeNode node = node_with({card("GPU-1")});
  node.pods = {pod_on("GPU-1")};
  const ScrapePicture picture = picture_of({node});
  const std::vector<std::string> old = {
      "GPUDeviceMemoryLimit",    "GPUDeviceCoreLimit",     "GPUDeviceMemoryAllocated",
      "GPUDeviceSharedNum",      "GPUDeviceCoreAllocated", "nodeGPUOverview",
      "nodeGPUMemoryPercentage", "nodeGPUMigInstance",     "QuotaUsed",
      "vGPUMemoryAllocated",     "vGPUCoreAllocated"};
  const std::string without = page_of(picture).text, with = page_of(picture, true).text;
  for (const std::string& name : old) {
    EXPECT_THAT(without, Not(HasSubstr(name)));
    EXPECT_THAT(with, HasSubstr("# TYPE " + name + " gauge\n"));
  }
  EXPECT_THAT(with, HasSubstr("\nhami_gpu_memory_limit_bytes{"));
  for (
      const std::string_view line : {
          R"(GPUDeviceMemoryLimit{deviceidx="0",devicetype="Tesla T4",deviceuuid="GPU-1",nodeid="n1",zone="vGPU"} 16777216000)",
          R"(GPUDeviceMemoryAllocated{devicecores="100",deviceidx="0",devicetype="Tesla T4",deviceuuid="GPU-1",nodeid="n1",zone="vGPU"} 4194304000)",
          R"(nodeGPUMemoryPercentage{deviceidx="0",deviceuuid="GPU-1",nodeid="n1",zone="vGPU"} 0.25)",
          R"(vGPUCoreAllocated{containeridx="0",deviceuuid="GPU-1",podnamespace="team",nodename="n1",podname="p",zone="vGPU"} 30)",
      }) {
    EXPECT_THAT(with, HasSubstr("\n" + std::string(line) + "\n"));
  }
}

TEST(ScrapePage, Case160ACardWithoutMemoryHasNoShare) {
  const std::string text = page_of(picture_of({node_with({card("GPU-0", 0)})})).text;
  EXPECT_EQ(lines_of(text, "hami_node_gpu_memory_allocated_ratio{").size(), 0U);
  EXPECT_EQ(lines_of(text, "hami_gpu_memory_limit_bytes{").size(), 1U);
  EXPECT_THAT(text, Not(HasSubstr("} nan")));
  EXPECT_THAT(text, Not(HasSubstr("} inf")));
}

TEST(ScrapePage, Case161EqualRowsAreOneAndCounted) {
  // Told apart only by bytes that are no text.
  ScrapeNode node = node_with({card("GPU-\xFF"), card("GPU-\xFE"), card("GPU-\"quoted\"")});
  // A pod made anew under the name of one that is not gone yet.
  node.pods = {pod_on("GPU-\xFF"), pod_on("GPU-\xFF")};
  const ScrapePage page = page_of(picture_of({node, node_with({card("GPU-\xFF")}, "n2")}));
  EXPECT_EQ(lines_of(page.text, "hami_gpu_memory_limit_bytes{").size(), 3U)
      << "the same id on two nodes is two rows";
  EXPECT_EQ(lines_of(page.text, "hami_vgpu_memory_allocated_bytes{").size(), 1U);
  EXPECT_EQ(lines_of(page.text, "tessera_container_memory_allocated_bytes{").size(), 1U);
  EXPECT_EQ(page.duplicates, 3U);
  EXPECT_THAT(page.text, HasSubstr(R"(device_uuid="GPU-\"quoted\"")"));
  EXPECT_THAT(page.text, HasSubstr("device_uuid=\"GPU-\xEF\xBF\xBD\""));
}

TEST(ScrapePage, ContainersHaveTheirOwnRowsWithNameAndPosition) {
  ScrapeNode node = node_with({card("GPU-1")});
  ScrapePod pod = pod_on("GPU-1");
  pod.grants.push_back(
      {.position = 0, .vendor = {0}, .device = "GPU-1", .memory = {100}, .cores = {5}});
  // Two instances of one card for one container are one row.
  pod.grants.push_back(
      {.position = 1, .vendor = {0}, .device = "GPU-1", .memory = {1000}, .cores = {7}});
  node.pods = {pod};
  EXPECT_THAT(
      lines_of(page_of(picture_of({node})).text, "tessera_container_core_allocated_ratio{"),
      testing::ElementsAre(
          R"(tessera_container_core_allocated_ratio{container="init",container_index="0",device_uuid="GPU-1",namespace="team",node="n1",pod="p"} 5)",
          R"(tessera_container_core_allocated_ratio{container="app",container_index="1",device_uuid="GPU-1",namespace="team",node="n1",pod="p"} 37)"));
}

TEST(ScrapePage, InstancesAreToldOnceTheirAgentHasNamedThem) {
  core::Device device = card("GPU-1");
  device.index = 3;
  device.mode = "mig";
  device.mig = std::make_shared<core::MigProfiles>();
  ScrapeNode node = node_with({device});
  ScrapePod pod = pod_on("GPU-1");
  pod.grants[0].mig = core::MigSlice{"2g.10gb", {2, 2}, std::nullopt};
  node.pods = {pod};
  const auto rows = [&](bool legacy) {
    return lines_of(page_of(picture_of({node}), legacy).text,
                    legacy ? "nodeGPUMigInstance{" : "hami_node_gpu_mig_instance_info{");
  };
  EXPECT_TRUE(rows(false).empty());
  node.pods[0].grants[0].mig->instance = core::MigInstance{"MIG-7", "0", "0"};
  EXPECT_THAT(
      rows(false),
      testing::ElementsAre(
          R"(hami_node_gpu_mig_instance_info{device_index="3",device_uuid="GPU-1",node="n1",zone="vGPU",mig_uuid="MIG-7",profile="2g.10gb",gpu_instance_id="0",compute_instance_id="0",placement_start="2",placement_size="2"} 1)"));
  EXPECT_THAT(
      rows(true),
      testing::ElementsAre(
          R"(nodeGPUMigInstance{deviceidx="3",deviceuuid="GPU-1",nodeid="n1",zone="vGPU",migname="2g.10gb-0"} 1)"));
}

TEST(ScrapePage, Case120QuotaRowsComeAndGoWithTheQuota) {
  core::QuotaBook book;
  book.charge({.ns = "team"}, {{.vendor = {0}, .count = 2, .memory = 6000, .cores = 40}});
  core::QuotaSpec low{.ns = "team", .name = "low"}, high{.ns = "team", .name = "high"};
  low.limits = {{{0}, core::QuotaKind::kMemory, 10'000}};
  high.limits = {{{0}, core::QuotaKind::kMemory, 20'000}};
  book.set(low);
  book.set(high);
  const auto rows = [&] {
    ScrapePicture picture = picture_of({});
    auto quotas = std::make_shared<ScrapeQuotas>();
    quotas->rows = book.rows();
    for (const std::string& ns : book.namespaces()) quotas->used.emplace_back(ns, book.used(ns));
    picture.quotas = quotas;
    return lines_of(page_of(picture).text, "hami_resource_quota_");
  };
  EXPECT_THAT(
      rows(),
      testing::UnorderedElementsAre(
          R"(hami_resource_quota_used{limit="10000",namespace="team",quota_name="nvidia.com/gpumem",zone="vGPU"} 6000)",
          R"(hami_resource_quota_used{limit="0",namespace="team",quota_name="nvidia.com/gpucores",zone="vGPU"} 40)",
          R"(hami_resource_quota_used{limit="0",namespace="team",quota_name="nvidia.com/gpu",zone="vGPU"} 2)",
          R"(hami_resource_quota_limit{namespace="team",quota_name="nvidia.com/gpumem",zone="vGPU"} 10000)"));
  book.remove("team", "low");
  EXPECT_THAT(rows(), Contains(HasSubstr("hami_resource_quota_limit")));
  EXPECT_THAT(rows(), Contains(HasSubstr(R"(limit="20000")")));
  book.remove("team", "high");
  EXPECT_THAT(rows(), Not(Contains(HasSubstr("hami_resource_quota_limit"))));
  book.uncharge({.ns = "team"}, {{.vendor = {0}, .count = 2, .memory = 6000, .cores = 40}});
  EXPECT_TRUE(rows().empty());
}

TEST(ScrapePage, Case163OtherVendorsHaveTheirFiguresInBytes) {
  const vendors::Vendors all = table();
  ASSERT_GT(all.all().size(), 2U);
  for (std::size_t v = 1; v < all.all().size(); ++v) {
    core::Device device = card("other-0");
    device.vendor = {static_cast<std::uint16_t>(v)};
    ScrapeNode node = node_with({device});
    node.offered.assign(all.all().size(), false);
    node.offered[v] = true;
    const std::string text = page_of(picture_of({node})).text;
    EXPECT_THAT(lines_of(text, "hami_gpu_memory_allocated_bytes{"),
                testing::ElementsAre(testing::EndsWith(" 4194304000")));
    EXPECT_THAT(lines_of(text, "hami_gpu_core_allocated_ratio{"),
                testing::ElementsAre(testing::EndsWith(" 30")));
    EXPECT_THAT(text, HasSubstr(R"(tessera_node_registered{node="n1",vendor=")" +
                                all.all()[v].word + "\"} 1\n"));
  }
}

TEST(ScrapePage, HealthIsAFigureNotAMissingRow) {
  core::Device sick = card("GPU-1");
  sick.healthy = false;
  ScrapeNode empty = node_with({}, "n2");
  const std::string text = page_of(picture_of({node_with({sick}), empty})).text;
  EXPECT_THAT(
      text,
      HasSubstr(R"(tessera_device_healthy{device_uuid="GPU-1",node="n1",vendor="NVIDIA"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(tessera_node_registered{node="n1",vendor="NVIDIA"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(tessera_node_registered{node="n2",vendor="NVIDIA"} 0)"));
  EXPECT_THAT(text, Not(HasSubstr(R"(tessera_node_registered{node="n2",vendor="Ascend)")));
}

TEST(ScrapePage, QueuesCachesAndPendingAgents) {
  ScrapePicture picture = picture_of({});
  picture.figures = {.bind_waiting = 3, .unassigned_pods = 2};
  picture.figures.caches = {{"pods", 7, true}, {"resourcequotas", 0, false}};
  picture.figures.allocating = {{"n1", 2}};
  const std::string text = page_of(picture).text;
  for (const std::string_view line :
       {"tessera_bind_queue_length 3", "tessera_unassigned_pods 2",
        R"(tessera_cache_objects{resource="pods"} 7)", R"(tessera_cache_synced{resource="pods"} 1)",
        R"(tessera_cache_synced{resource="resourcequotas"} 0)",
        R"(tessera_allocate_pending{node="n1"} 2)"}) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(line) + "\n"));
  }
}

// ---- the camera

class CameraTest : public testing::Test {
 protected:
  CameraTest() : books_(table().rules(), clock_, std::chrono::minutes(10), metrics_) {}
  ~CameraTest() override { state_.stop(); }

  static std::string card_of(int node) { return "card-" + std::to_string(node); }
  void add_node(int n) {
    NodeFact fact;
    fact.name = fact.spec.name = "n" + std::to_string(n);
    fact.version = 1;
    fact.spec.devices = {card(card_of(n))};
    fact.spec.offered = {true};
    state_.run([&] { books_.apply(std::move(fact)); });
  }
  void add_pod(int serial, int n) {
    PodFact fact;
    fact.ns = "team";
    fact.name = fact.uid = "p" + std::to_string(serial);
    fact.version = 1;
    fact.node = "n" + std::to_string(n);
    fact.asks_devices = true;
    fact.containers = {"app"};
    core::Allocation allocation;
    allocation.node = fact.node;
    allocation.kinds = {core::PositionKind::kApp};
    allocation.grants = {{.position = 0, .vendor = {0}, .device = card_of(n), .memory = {100}}};
    fact.allocation = allocation;
    state_.run([&] { books_.apply(std::move(fact)); });
  }
  ScrapePicture take(std::uint64_t generation = 1) {
    ScrapePicture picture;
    EXPECT_TRUE(camera_.take(
        state_, books_, [] { return ScrapeFigures{}; }, generation, picture));
    return picture;
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  TaskThread state_;
  Books books_;
  Camera camera_;
};

TEST_F(CameraTest, OnlyWhatHasChangedIsCopiedAgain) {
  for (int n = 0; n < 20; ++n) add_node(n);
  const ScrapePicture first = take(), second = take();
  ASSERT_EQ(first.nodes.size(), 20U);
  EXPECT_EQ(first.nodes, second.nodes) << "the same copies";
  add_pod(1, 7);
  const ScrapePicture third = take();
  for (std::size_t i = 0; i < 20; ++i) {
    NodeRows rows;
    unpack(*third.nodes[i], rows);
    ASSERT_EQ(rows.devices.size(), 1U);
    EXPECT_EQ(third.nodes[i] == second.nodes[i], rows.devices[0].node != "n7") << i;
  }
  NodeRows rows;
  unpack(*third.nodes[7], rows);
  EXPECT_EQ(third.nodes[7]->used[0].memory, MiB{100});
  ASSERT_EQ(rows.containers.size(), 1U);
  EXPECT_EQ(rows.containers[0].container, "app");
  EXPECT_NE(take(2).nodes[0], third.nodes[0]) << "another table of vendors";
}

TEST_F(CameraTest, Case159SeriesOfPodsThatAreGoneDisappear) {
  add_node(0);
  std::size_t rows = 0;
  for (int i = 0; i < 1000; ++i) {
    add_pod(i, 0);
    if (i % 100 == 99) {
      const std::string text = page_of(take()).text;
      const std::size_t now = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      EXPECT_EQ(now, rows == 0 ? now : rows) << "after " << i << " pods";
      rows = now;
    }
    state_.run([&] { books_.remove_pod("p" + std::to_string(i)); });
  }
  EXPECT_EQ(lines_of(page_of(take()).text, "hami_vgpu_memory_allocated_bytes{").size(), 0U);
}

TEST_F(CameraTest, ARemovedNodeLeavesThePageItsPodsStay) {
  add_node(0);
  add_pod(1, 0);
  state_.run([&] { books_.remove_node("n0", 2); });
  const std::string text = page_of(take()).text;
  EXPECT_TRUE(lines_of(text, "hami_gpu_memory_limit_bytes{").empty());
  EXPECT_EQ(lines_of(text, "hami_vgpu_memory_allocated_bytes{").size(), 1U);
}

TEST_F(CameraTest, WithoutAStateThreadThereIsNoPicture) {
  state_.stop();
  ScrapePicture picture;
  EXPECT_FALSE(camera_.take(
      state_, books_, [] { return ScrapeFigures{}; }, 1, picture));
}

}  // namespace
}  // namespace tessera::service
