/// Invariants 1 to 6 over random histories over HTTP, with faults of the API server, agents that
/// lie, die and lag, and restarts of the scheduler. TESSERA_SEED repeats the choices of a run;
/// TESSERA_LONG=1 is the long campaign. Once in
/// single mode and once in scored mode.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "history_world.h"
#include "obs/log.h"

namespace tessera::test {
namespace {

using sim::Misbehaviour;
using std::chrono::milliseconds;

constexpr std::uint64_t kShortEvents = 1'500, kLongEvents = 25'000;
constexpr int kStepsPerCheckpoint = 150;

bool long_run() { return std::getenv("TESSERA_LONG") != nullptr; }

std::uint64_t chosen_seed() {
  const char* given = std::getenv("TESSERA_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

class Driver {
 public:
  Driver(HistoryWorld& world, std::uint64_t seed) : world_(world), random_(seed) {}

  void step() {
    const std::size_t what = below(100);
    if (what < 50) return create();
    if (what < 70) return remove();
    if (what < 80) return misbehave();
    if (what < 90) return fault();
    if (what < 93) return watches();
    if (what < 96) return quota();
    if (what < 98) return cordon();
    if (below(3) != 0) return restart();
    pause();
  }

  void between_checkpoints() {
    if (below(2) == 0) {
      world_.record().count("node replaced");
      world_.replace_node(below(world_.nodes().size()));
    }
  }

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& words) {
    return words[below(N)];
  }

  void create() {
    static constexpr std::array<const char*, 14> kContainers = {
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"3000","nvidia.com/gpucores":"20")",
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"9000")",
        R"("nvidia.com/gpu":"2","nvidia.com/gpumem":"2000","nvidia.com/gpucores":"10")",
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem-percentage":"40")",
        R"("nvidia.com/gpu":"1")",
        R"("nvidia.com/gpu":"1","nvidia.com/gpucores":"100")",
        R"("nvidia.com/gpu":"4","nvidia.com/gpumem":"500")",
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"20000")",
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"100000")",
        R"("kunlunxin.com/vxpu":"1","kunlunxin.com/vxpu-memory":"24576")",
        R"("kunlunxin.com/vxpu":"2","kunlunxin.com/vxpu-memory":"49152")",
        R"("huawei.com/Ascend910B3":"1","huawei.com/Ascend910B3-memory":"16384")",
        R"("huawei.com/Ascend910B3":"2")",
        R"("cpu":"1")"};
    std::string init, apps;
    if (below(4) == 0) init += container("i", kContainers[below(8)], below(3) == 0);
    const std::size_t count = 1 + below(2);
    for (std::size_t i = 0; i < count; ++i) {
      // A pod of the CPU alone is none of the scheduler's business.
      const std::size_t kind = below(kContainers.size() - (i == 0 ? 1 : 0));
      if (i > 0) apps += ",";
      apps += container(fmt::format("c{}", i), kContainers[kind], false);
    }
    const std::string name = fmt::format("p{}", ++serial_);
    const std::string ns = below(3) == 0 ? "team" : "default";
    pods_.emplace_back(ns, name);
    world_.record().count("create");
    world_.create(
        ns, name,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","annotations":{{{}}}}},"spec":{{"schedulerName":"hami-scheduler","initContainers":[{}],"containers":[{}]}}}})",
            name, annotations(), init, apps));
  }

  static std::string container(const std::string& name, const std::string& limits, bool sidecar) {
    return fmt::format(
        R"({{"name":"{}","image":"none"{},"resources":{{"limits":{{{}}},"requests":{{{}}}}}}})",
        name, sidecar ? R"(,"restartPolicy":"Always")" : "", limits, limits);
  }

  std::string annotations() {
    std::string out = R"("x":"y")";
    if (below(5) != 0)
      out += fmt::format(R"(,"simulation.tessera.io/run-for":"{}ms")", 10 + below(400));
    if (below(4) == 0)
      out +=
          fmt::format(R"(,"hami.io/gpu-scheduler-policy":"{}")",
                      one_of<5>({"binpack", "spread", "mutex", "numa,binpack", "topology-aware"}));
    if (below(4) == 0)
      out +=
          fmt::format(R"(,"hami.io/node-scheduler-policy":"{}")", one_of<2>({"binpack", "spread"}));
    if (below(12) == 0) out += R"(,"nvidia.com/numa-bind":"true")";
    return out;
  }

  void remove() {
    if (pods_.empty()) return;
    const std::size_t i = below(pods_.size());
    world_.record().count("delete");
    world_.remove(pods_[i].first, pods_[i].second, below(2) == 0);
    pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::string some_node() { return world_.nodes()[below(world_.nodes().size())]; }

  void misbehave() {
    static constexpr std::array kHow = {Misbehaviour::kNone,
                                        Misbehaviour::kNone,
                                        Misbehaviour::kNone,
                                        Misbehaviour::kNeverAllocate,
                                        Misbehaviour::kFailAllocate,
                                        Misbehaviour::kKeepLock,
                                        Misbehaviour::kLate,
                                        Misbehaviour::kDead,
                                        Misbehaviour::kDropRegistration,
                                        Misbehaviour::kNothingAllocatable,
                                        Misbehaviour::kUnhealthy,
                                        Misbehaviour::kShrunk};
    world_.record().count("misbehave");
    world_.agents().misbehave(some_node(), kHow[below(kHow.size())]);
  }

  void fault() {
    // Agents try again after everything but a conflict on their own pods.
    sim::Fault fault{.match = one_of<6>({"PATCH /api/v1/nodes", "/binding", "GET /api/v1/pods",
                                         "GET /api/v1/nodes", "watch=true", "/events"}),
                     .times = 1 + static_cast<int>(below(3))};
    switch (below(5)) {
      case 0:
        fault.status = 409;
        break;
      case 1:
        fault.status = below(2) == 0 ? 500 : 429;
        break;
      case 2:
        fault.delay = milliseconds(1 + below(200));
        break;
      case 3:
        fault.drop_after_effect = true;
        break;
      default:
        fault.cut = true;
    }
    if (fault.match == "watch=true" && fault.status != 0) fault.status = 410;
    world_.record().count("fault");
    world_.api().inject(fault);
  }

  void watches() {
    world_.record().count("watch fault");
    switch (below(4)) {
      case 0:
        world_.api().drop_watches();
        break;
      case 1:
        world_.api().forget_history();
        world_.api().drop_watches();
        break;
      case 2:
        world_.api().stall_watches(true);
        std::this_thread::sleep_for(milliseconds(20 + below(100)));
        world_.api().stall_watches(false);
        break;
      default:
        world_.api().clear_faults();
    }
  }

  void quota() {
    constexpr const char* kPath = "/api/v1/namespaces/team/resourcequotas";
    world_.record().count("quota");
    world_.write("DELETE", fmt::format("{}/q", kPath));
    if (below(3) == 0) return;
    world_.write(
        "POST", kPath,
        fmt::format(
            R"({{"metadata":{{"name":"q"}},"spec":{{"hard":{{"limits.nvidia.com/gpumem":"{}","limits.nvidia.com/gpu":"{}"}}}}}})",
            5'000 + below(60'000), 1 + below(12)));
  }

  void cordon() {
    const std::string node = some_node();
    world_.record().count("cordon");
    world_.write("PATCH", "/api/v1/nodes/" + node,
                 fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/device-cordon":"{}"}}}}}})",
                             below(2) == 0 ? node + "-gpu000000000000" : ""),
                 "application/merge-patch+json");
  }

  void restart() {
    world_.record().count("restart");
    world_.restart_server();
  }

  void pause() { std::this_thread::sleep_for(milliseconds(below(20))); }

  HistoryWorld& world_;
  std::mt19937_64 random_;
  std::vector<std::pair<std::string, std::string>> pods_;
  int serial_ = 0;
};

void run_history(bool scored) {
  log::set_level(std::getenv("TESSERA_LOG") != nullptr ? log::Level::kDebug : log::Level::kOff);
  const std::uint64_t seed = chosen_seed();
  const std::uint64_t wanted = long_run() ? kLongEvents : kShortEvents;
  SCOPED_TRACE(fmt::format("TESSERA_SEED={} repeats the choices of this run", seed));
  HistoryWorld world(scored);
  ASSERT_TRUE(world.start());
  Driver driver(world, seed);
  while (world.record().events() < wanted && world.record().problems().empty()) {
    for (int i = 0; i < kStepsPerCheckpoint; ++i) {
      driver.step();
      std::this_thread::sleep_for(milliseconds(3));
    }
    world.checkpoint();
    driver.between_checkpoints();
  }
  world.checkpoint();
  world.empty_out();
  world.checkpoint();
  fmt::print("{} events with seed {}: {}; {} pods were served\n", world.record().events(), seed,
             world.record().summary(), world.agents().served());
  EXPECT_EQ(world.record().problems(), std::vector<std::string>{});
  EXPECT_GT(world.agents().served(), 0U);
  for (const char* kind : kKinds) EXPECT_GT(world.record().bound_with(kind), 0U) << kind;
  if (scored) {
    EXPECT_GT(world.record().count_of("prioritize"), 0U);
    EXPECT_GT(world.record().count_of("bind refused"), 0U) << "bursts are to collide";
  }
}

TEST(History, InvariantsHoldOverHttpWhateverHappens) { run_history(/*scored=*/false); }

TEST(History, InvariantsHoldWhenAnyOfTheAnsweredNodesIsBound) { run_history(/*scored=*/true); }

}  // namespace
}  // namespace tessera::test
