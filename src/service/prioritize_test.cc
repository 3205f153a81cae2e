/// Scores from verdicts that were kept are the scores that a decision from nothing would give,
/// whatever happened in between.
#include "service/prioritize.h"
#include "service/facts_test_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tessera::service {
namespace {

constexpr int kNodes = 12;
constexpr std::int64_t kCardMemory = 10'000;

std::string node_name(int i) { return fmt::format("n{:02}", i); }

class PrioritizeTest : public testing::Test {
 protected:
  PrioritizeTest() {
    for (int i = 0; i < kNodes; ++i) set_node(i, ++version_, true);
  }

  void set_node(int i, std::uint64_t version, bool healthy) {
    NodeFact fact;
    fact.name = node_name(i);
    fact.uid = "uid-" + fact.name;
    fact.version = version;
    fact.spec.name = fact.name;
    for (int card = 0; card < 2; ++card) {
      core::Device device;
      device.id = fmt::format("{}-card{}", fact.name, card);
      device.index = static_cast<std::uint32_t>(card);
      device.slots = 10;
      device.memory = MiB{kCardMemory};
      device.cores = CorePercent{100};
      device.healthy = healthy;
      device.model = "NVIDIA-Tesla T4";
      device.mode = "hami-core";
      device.vendor = VendorId{0};
      fact.spec.devices.push_back(std::move(device));
    }
    fact.spec.offered = {true};
    books_.apply(std::move(fact));
  }

  static std::string body(const std::vector<std::string>& names, int memory,
                          const std::string& version = "7", const std::string& uid = "uid-p") {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "\"" : ",\"") + name + "\"";
    return fmt::format(
        R"({{"Pod":{{"metadata":{{"name":"p","namespace":"default","uid":"{}","resourceVersion":"{}"}},)"
        R"("spec":{{"containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"1","nvidia.com/gpumem":"{}"}}}}}}]}}}},)"
        R"("NodeNames":[{}]}})",
        uid, version, memory, list);
  }

  /// What the filter verb does in scored mode.
  void filter(const std::vector<std::string>& names, int memory) {
    FilterCall call;
    ASSERT_TRUE(read_call(call, live_, body(names, memory), NodesForm::kSimulate));
    placer_.read(call.args.names);
    const core::Outcome outcome = placer_.place(call.request);
    if (!outcome.decision) return;
    PodRecord& record = books_.note_pod("default", "p", "uid-p");
    ASSERT_TRUE(books_.reserve_tentatively(record, outcome.decision->allocation));
  }

  std::string scores(Placer& placer, const std::string& text) {
    Prioritizer prioritizer(live_, placer, measures_, clock_, {});
    FilterCall call;
    std::string answer;
    call.answer = [&answer](http::Response response) { answer = std::move(response.body); };
    if (prioritizer.prepare(call, text)) prioritizer.decide(call);
    return answer;
  }

  void hold(const std::string& uid, const std::string& node, int card, std::int64_t memory) {
    core::Allocation a;
    a.node = node;
    a.kinds = {core::PositionKind::kApp};
    a.grants = {{0, VendorId{0}, fmt::format("{}-card{}", node, card), MiB{memory}, CorePercent{}}};
    a.subject.ns = "default";
    static_cast<void>(books_.reserve(books_.note_pod("default", "pod-" + uid, uid), std::move(a)));
  }

  ManualClock clock_{WallTime(std::chrono::seconds(1'000'000))};
  obs::Metrics metrics_;
  Measures measures_{metrics_};
  LiveReader live_{default_reader()};
  Books books_{live_.get()->vendors().rules(), clock_, std::chrono::minutes(10), metrics_};
  Placer placer_{books_, {}};
  std::uint64_t version_ = 0;
};

TEST_F(PrioritizeTest, BooksMadeAnewAreLookedAtAnew) {
  std::vector<std::string> names;
  for (int i = 0; i < kNodes; ++i) names.push_back(node_name(i));
  filter(names, 1000);
  const std::string before = scores(placer_, body(names, 1000));
  const auto made = placer_.figures().rows_made;
  EXPECT_EQ(scores(placer_, body(names, 1000)), before);
  EXPECT_EQ(placer_.figures().rows_made, made);
  books_.repair();
  EXPECT_EQ(scores(placer_, body(names, 1000)), before);
  EXPECT_EQ(placer_.figures().rows_made, made + kNodes);
}

TEST_F(PrioritizeTest, KeptScoresEqualScoresFromNothingAfterAnyChanges) {
  std::mt19937_64 random(20261130);
  const auto below = [&random](int n) {
    return std::uniform_int_distribution<int>(0, n - 1)(random);
  };
  std::vector<std::string> names;
  for (int i = 0; i < kNodes; ++i) names.push_back(node_name(i));
  names.emplace_back("ghost");
  for (int round = 0; round < 3000; ++round) {
    const int memory = 500 * (1 + below(12));
    std::shuffle(names.begin(), names.end(), random);
    filter({names.begin(), names.begin() + 1 + below(kNodes)}, memory);
    for (int change = below(4); change > 0; --change) {
      const std::string uid = fmt::format("u{}", below(40));
      switch (below(8)) {
        case 0:
          set_node(below(kNodes), ++version_, below(5) != 0);
          break;
        case 1:
          books_.end_reservation(uid);
          break;
        case 2:
          books_.end_reservation("uid-p");
          break;
        case 3:
          books_.remove_node(node_name(below(kNodes)), 0);
          break;
        case 4: {
          QuotaFact quota;
          quota.spec.ns = "default";
          quota.spec.name = "q";
          quota.version = ++version_;
          quota.spec.limits.push_back(
              {VendorId{0}, core::QuotaKind::kMemory, 1000 + below(60'000)});
          books_.apply(std::move(quota));
          break;
        }
        default:
          hold(uid, node_name(below(kNodes)), below(2), 500 * (1 + below(8)));
      }
    }
    std::vector<std::string> asked = names;
    if (below(2) == 0) std::shuffle(asked.begin(), asked.end(), random);
    asked.resize(static_cast<std::size_t>(1 + below(kNodes)));
    const std::string text = body(asked, memory);
    Placer nothing(books_, {});
    ASSERT_EQ(scores(placer_, text), scores(nothing, text)) << "round " << round << ": " << text;
  }
  const auto figures = placer_.figures();
  EXPECT_LT(figures.plain, figures.asked * 2 / 3) << "else nothing was compared: a quota binds";
  EXPECT_LT(figures.rows_made, figures.asked * kNodes / 2) << "most verdicts were kept";
}

}  // namespace
}  // namespace tessera::service
