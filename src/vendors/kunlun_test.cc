// Kunlun: configuration, webhook, requests, placement and its words: the examples 15 to 23 of the
// page, its weak points, the public cases, nodes with both of its vendors.
#include "vendors/kunlun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "vendors/nvidia.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using core::ScoreMode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr auto kCard = "kunlunxin.com/xpu";
constexpr auto kSlice = "kunlunxin.com/vxpu";
constexpr auto kSliceMemory = "kunlunxin.com/vxpu-memory";
constexpr auto kCardText = "hami.io/kunlun-allocated";
constexpr auto kSliceText = "hami.io/xpu-devices-allocated";

k8s::StringMap cards(int count) { return {{kCard, std::to_string(count)}}; }
k8s::StringMap slices(int count, int memory = 0) {
  k8s::StringMap limits = {{kSlice, std::to_string(count)}};
  if (memory > 0) limits.emplace_back(kSliceMemory, std::to_string(memory));
  return limits;
}

std::string xpus_text(int count, int slots = 4, int memory = kKunlunCard,
                      const std::string& model = "XPU") {
  std::string out = "[";
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ",";
    out += R"({"id":"x)" + std::to_string(i) + R"(","index":)" + std::to_string(i) +
           R"(,"count":)" + std::to_string(slots) + R"(,"devmem":)" + std::to_string(memory) +
           R"(,"devcore":100,"type":")" + model + R"(","health":true})";
  }
  return out + "]";
}

class Kunlun : public testing::Test {
 protected:
  Kunlun() : scene_(std::string(kunlun_default_text()) + std::string(nvidia_default_text())) {}

  void add_cards(const std::string& node, int count) {
    EXPECT_THAT(scene_.add_node(node, {}, cards(count)), IsEmpty());
  }
  void add_xpus(const std::string& node, int count, int slots = 4, int memory = kKunlunCard) {
    EXPECT_THAT(
        scene_.add_node(node, {{"hami.io/node-register-xpu", xpus_text(count, slots, memory)}},
                        slices(count * slots)),
        IsEmpty());
  }
  void run(const std::string& node, k8s::StringMap limits, std::string_view key,
           const std::string& text) {
    ASSERT_TRUE(scene_.add_running("u" + std::to_string(++running_), node,
                                   pod_asking(std::move(limits), {{std::string(key), text}})));
  }
  void use_cards(const std::string& node, const std::vector<int>& indices) {
    for (const int i : indices) {
      run(node, cards(1), kCardText, node + "-kunlun-" + std::to_string(i) + ",kunlun,98304,100:;");
    }
  }
  void use_slice(int xpu, int memory, int times = 1) {
    for (int i = 0; i < times; ++i) {
      run("n", slices(1, memory), kSliceText,
          "x" + std::to_string(xpu) + ",XPU," + std::to_string(memory) + "," +
              std::to_string(memory * 100 / kKunlunCard) + ":;");
    }
  }
  Placed ask(const k8s::StringMap& limits, k8s::StringMap annotations = {}) {
    return scene_.place(pod_asking(limits, std::move(annotations)));
  }

  SceneOfVendors scene_;
  int running_ = 0;
};

// ---- configuration and webhook

TEST(KunlunConfig, TwoVendorsFromOneSection) {
  const Vendors vendors = vendors_from(kunlun_default_text());
  ASSERT_THAT(vendors.all(), SizeIs(2));
  EXPECT_EQ(vendors.all()[0].word, "kunlun");
  EXPECT_FALSE(vendors.all()[0].locks_node);
  EXPECT_TRUE(vendors.all()[0].offered_by_capacity);
  EXPECT_EQ(vendors.all()[0].handshake_key, "");
  EXPECT_EQ(vendors.all()[1].word, "XPU");
  EXPECT_TRUE(vendors.all()[1].locks_node);
  EXPECT_EQ(vendors.all()[1].handshake_key, "hami.io/node-handshake-xpu");
  EXPECT_TRUE(vendors.is_scheduler_key("BAIDU_COM_DEVICE_IDX"));
  EXPECT_THAT(vendors_from("kunlun: {resourceVCountName: a/b}").all(), SizeIs(1));
  const auto fault = parse_device_config("kunlun: {resourceCountName: [a]}");
  ASSERT_THAT(fault.faults, SizeIs(1));
  EXPECT_THAT(fault.faults[0].text(), HasSubstr("kunlun.resourceCountName"));
}

struct AdmitCase {
  std::string_view name;
  k8s::StringMap limits, set_limits;
  std::string_view error, warning;
};

TEST(KunlunWebhook, Admission) {
  const AdmitCase cases[] = {
      {"example 17: a slice is rounded",
       slices(1, 30000),
       {{kSliceMemory, "49152"}},
       "",
       "container c: kunlunxin.com/vxpu-memory: 30000 counts as 49152"},
      {"an exact slice", slices(1, 24576), {{kSliceMemory, "24576"}}, "", ""},
      {"more than a card is a card",
       slices(1, 98305),
       {{kSliceMemory, "98304"}},
       "",
       "98305 counts as 98304"},
      {"no memory: nothing is written", slices(2), {}, "", ""},
      {"whole cards are left alone", cards(4), {}, "", ""},
      {"weak point 3: numbers that never fit",
       cards(3),
       {},
       "",
       "kunlunxin.com/xpu: 3 cards are never placed, ask 1, 2, 4 or 8"},
      {"D7: bytes where MiB are counted",
       {{kSlice, "1"}, {kSliceMemory, "24Gi"}},
       {},
       "write 24576",
       ""},
      {"D7: fractions", {{kCard, "500m"}}, {}, "is not a whole number", ""},
  };
  const Vendors vendors = vendors_from(kunlun_default_text());
  for (const AdmitCase& c : cases) {
    const auto got = vendors.mutate(pod_asking(c.limits));
    ASSERT_EQ(got.has_value(), c.error.empty()) << c.name;
    if (!got) {
      EXPECT_THAT(got.error().what, HasSubstr(c.error)) << c.name;
      continue;
    }
    EXPECT_TRUE(got->uses_device) << c.name;
    EXPECT_EQ(got->containers[0].set_limits, c.set_limits) << c.name;
    EXPECT_EQ(got->containers[0].set_requests, c.set_limits) << c.name;
    ASSERT_EQ(got->warnings.size(), c.warning.empty() ? 0U : 1U) << c.name;
    if (!c.warning.empty()) {
      EXPECT_THAT(got->warnings[0], HasSubstr(c.warning)) << c.name;
    }
  }
}

TEST(KunlunWebhook, MemoryUnderRequestsAloneIsNotRewritten) {
  k8s::Pod pod = pod_asking(slices(1));
  pod.containers[0].requests = {{kSliceMemory, "30000"}};
  const auto got = vendors_from(kunlun_default_text()).mutate(pod);
  ASSERT_TRUE(got);
  EXPECT_THAT(got->containers[0].set_limits, IsEmpty());
}

TEST(KunlunRequest, SlicesAndCards) {
  const Vendors vendors = vendors_from(kunlun_default_text());
  const auto ask = [&](const k8s::StringMap& limits) {
    return vendors.demand(pod_asking(limits), {})->request.positions[0].asks.at(0);
  };
  EXPECT_EQ(ask(slices(1, 30000)).memory.v, 49152) << "example 17";
  EXPECT_EQ(ask(slices(1, 30000)).cores.v, 50) << "example 17";
  EXPECT_EQ(ask(slices(1, 1)).cores.v, 25);
  EXPECT_EQ(ask(slices(2)).memory.v, 98304) << "example 18";
  EXPECT_EQ(ask(slices(2)).cores.v, 100) << "example 18";
  EXPECT_EQ(ask(slices(2)).count, 2) << "example 18";
  EXPECT_EQ(ask(cards(4)).memory_percent, 100);
  EXPECT_FALSE(vendors.demand(pod_asking({{kSlice, "1"}, {kSliceMemory, "-1"}}), {}))
      << "weak point 7, D7";
}

// ---- nodes

TEST_F(Kunlun, ANodeThatCountsItsCards) {
  k8s::Node node;
  node.name = "quail";
  node.capacity = cards(8);
  const NodeReading got = scene_.vendors().read_node(node);
  ASSERT_THAT(got.spec.devices, SizeIs(8));
  EXPECT_EQ(got.spec.devices[5].id, "quail-kunlun-5");
  EXPECT_EQ(got.spec.devices[5].index, 5U);
  EXPECT_EQ(got.spec.devices[3].numa, 0);
  EXPECT_EQ(got.spec.devices[4].numa, 1);
  EXPECT_EQ(got.spec.devices[4].memory.v, 98304);
  EXPECT_TRUE(got.spec.offered[got.spec.devices[0].vendor.v]) << "D9: by capacity";
  for (const char* bad : {"1500m", "-1", "1000000"}) {
    node.capacity = {{kCard, bad}};
    EXPECT_THAT(scene_.vendors().read_node(node).problems, Not(IsEmpty())) << bad;
  }
  node.capacity = cards(0);
  EXPECT_THAT(scene_.vendors().read_node(node).spec.devices, IsEmpty());
}

// ---- whole cards

TEST_F(Kunlun, Example23TextsOfWholeCards) {
  add_cards("quail", 8);
  use_cards("quail", {0, 4});
  const Placed got = ask(cards(2));
  EXPECT_THAT(got.written, ElementsAre(Pair(kCardText,
                                            "quail-kunlun-1,kunlun,98304,100:quail-kunlun-2,kunlun,"
                                            "98304,100:;"),
                                       Pair("BAIDU_COM_DEVICE_IDX", "1,2")));
}

TEST_F(Kunlun, CardNumbersAreThoseOfTheLastContainer) {  // weak point 8
  add_cards("n", 8);
  const Placed got = scene_.place(
      pod_of({container_of(cards(1)), container_of({}), container_of(cards(2)), container_of({})}));
  EXPECT_EQ(got.text(kCardText),
            "n-kunlun-0,kunlun,98304,100:;;n-kunlun-1,kunlun,98304,100:n-kunlun-2,kunlun,98304,100:"
            ";;");
  EXPECT_EQ(got.text("BAIDU_COM_DEVICE_IDX"), "1,2");
}

TEST_F(Kunlun, RefusalsNameOneReasonOnly) {
  add_cards("n", 8);
  use_cards("n", {0, 1, 2, 5, 6, 7});
  EXPECT_EQ(ask(cards(2)).refusal, "1/8 NumaNotFit") << "example 8";
  EXPECT_EQ(ask(cards(3)).refusal, "1/8 NumaNotFit") << "example 13";
  EXPECT_EQ(ask(cards(8)).refusal, "1/8 NumaNotFit") << "example 14";
  EXPECT_EQ(ask(cards(9)).refusal, "NodeInsufficientDevice");
  std::string all;
  for (int i = 0; i < 8; ++i) all += "n-kunlun-" + std::to_string(i) + ", ";
  EXPECT_EQ(ask(cards(1), {{"hami.io/no-use-xpu-uuid", all}}).refusal, "8/8 CardUuidMismatch")
      << "example 22";
}

TEST_F(Kunlun, Case222IdsUnderTwoNames) {
  add_cards("n", 8);
  const auto chosen = [&](k8s::StringMap annotations) {
    const Placed got = ask(cards(1), std::move(annotations));
    return got.node.empty() ? got.refusal : got.text("BAIDU_COM_DEVICE_IDX");
  };
  EXPECT_EQ(chosen({{"baidu.com/use-gpuuuid", "n-kunlun-6"}}), "6");
  EXPECT_EQ(chosen({{"hami.io/use-xpu-uuid", "n-kunlun-5"}}), "5");
  EXPECT_EQ(chosen({{"baidu.com/use-gpuuuid", "n-kunlun-5,n-kunlun-6"},
                    {"hami.io/use-xpu-uuid", "n-kunlun-6,n-kunlun-7"}}),
            "6")
      << "both must accept a card";
  EXPECT_EQ(
      chosen({{"baidu.com/use-gpuuuid", "n-kunlun-5"}, {"hami.io/use-xpu-uuid", "n-kunlun-7"}}),
      "8/8 CardUuidMismatch")
      << "in conflict no card is accepted";
  EXPECT_EQ(chosen({{"baidu.com/nouse-gpuuuid", "n-kunlun-0"},
                    {"hami.io/no-use-xpu-uuid", "n-kunlun-1"}}),
            "2");
}

TEST_F(Kunlun, Examples15And16ScoreOfHami) {
  scene_.use_mode(ScoreMode::kHami);
  add_cards("n", 8);
  const auto topology = [&](int count) { return ask(cards(count)).score; };
  EXPECT_NEAR(topology(1), 0, 0.01);
  EXPECT_NEAR(topology(2), 1000, 0.01);
  EXPECT_NEAR(topology(4), 2000, 0.01);
  EXPECT_NEAR(topology(8), 3000, 0.01);
  use_cards("n", {0, 4});
  const double base = 10.0 * (2.0 / 800 + 2.0 / 8 + 2.0 / 8);
  EXPECT_NEAR(topology(2), 1000 + base, 0.01) << "example 16";
}

TEST_F(Kunlun, TheNodeWhoseWingsStayWholeWinsUnderEveryPolicy) {  // weak point 4, D3
  add_cards("idle", 8);
  add_cards("open", 8);
  use_cards("open", {0, 1, 2});
  for (const char* policy : {"binpack", "spread"}) {
    const Placed got = ask(cards(1), {{"hami.io/node-scheduler-policy", policy}});
    EXPECT_EQ(got.node, "open") << policy;
    EXPECT_EQ(got.text("BAIDU_COM_DEVICE_IDX"), "3") << policy;
  }
  EXPECT_EQ(ask(cards(4)).node, "open") << "its right wing is whole";
}

TEST_F(Kunlun, OtherVendorsOnTheNodeDoNotSilenceTheScore) {  // weak point 4
  k8s::StringMap counted = cards(8);
  counted.emplace_back("nvidia.com/gpu", "10");
  ASSERT_THAT(
      scene_.add_node(
          "mixed",
          {{"hami.io/node-nvidia-register",
            R"([{"id":"g","count":10,"devmem":1000,"devcore":100,"type":"T","health":true}])"}},
          counted),
      IsEmpty());
  add_cards("plain", 8);
  use_cards("mixed", {0, 1, 2});
  EXPECT_EQ(ask(cards(1)).node, "mixed");
  scene_.use_mode(ScoreMode::kHami);
  EXPECT_NEAR(ask(cards(1), {{"hami.io/node-scheduler-policy", "binpack"}}).score, 10.0, 10.0)
      << "HAMi knows no topology there";
}

// ---- slices

TEST_F(Kunlun, Example19CardsAreSharedByEqualSlices) {
  add_xpus("n", 8);
  use_slice(0, 24576);
  use_slice(1, 24576, 3);
  use_slice(2, 24576, 4);
  EXPECT_EQ(ask(slices(1, 24576)).text(kSliceText), "x0,XPU,24576,25:;");
  EXPECT_EQ(ask(slices(2, 24576)).text(kSliceText), "x0,XPU,24576,25:x1,XPU,24576,25:;");
  EXPECT_EQ(ask(slices(2, 24576)).text("hami.io/xpu-devices-to-allocate"),
            "x0,XPU,24576,25:x1,XPU,24576,25:;");
  EXPECT_EQ(ask(slices(1, 49152)).text(kSliceText), "x3,XPU,49152,50:;");
}

TEST_F(Kunlun, Examples20And21UnequalSlicesAndMutex) {
  add_xpus("n", 8);
  for (int i = 0; i < 8; ++i) use_slice(i, 24576);
  EXPECT_EQ(ask(slices(1, 49152)).refusal, "1/8 NumaNotFit") << "example 20";
  const k8s::StringMap mutex = {{"hami.io/gpu-scheduler-policy", "mutex"}};
  EXPECT_EQ(ask(slices(1, 24576), mutex).refusal, "8/8 ExclusiveDeviceAllocateConflict")
      << "example 21";
  EXPECT_EQ(ask(slices(1, 49152), mutex).refusal, "1/8 NumaNotFit") << "none would do anyway";
}

TEST_F(Kunlun, SlotsOfACardAreLimits) {  // weak point 6: HAMi counts no slots
  add_xpus("n", 1, 2);
  use_slice(0, 24576, 2);
  EXPECT_EQ(ask(slices(1, 24576)).refusal, "1/1 NumaNotFit");
}

TEST_F(Kunlun, SmallCardsServeSmallSlices) {  // weak point 6
  add_xpus("n", 4, 4, 32768);
  EXPECT_EQ(ask(slices(1)).refusal, "1/4 NumaNotFit");
  EXPECT_EQ(ask(slices(1, 24576)).text(kSliceText), "x0,XPU,24576,25:;");
}

TEST_F(Kunlun, TheVendorIsThatOfTheRegisterNotOfTheModel) {  // weak points 10, 11, S-20
  ASSERT_THAT(scene_.add_node(
                  "n", {{"hami.io/node-register-xpu", xpus_text(8, 4, kKunlunCard, "kunlun-P800")}},
                  slices(32)),
              IsEmpty());
  EXPECT_EQ(ask(cards(1)).node, "");
  const Placed got = scene_.place(pod_of({container_of({}), container_of(slices(1, 24576))}));
  EXPECT_EQ(got.text(kSliceText), ";x0,XPU,24576,25:;");
}

TEST_F(Kunlun, CardsAndSlicesOnANodeAndInAPod) {
  k8s::StringMap counted = cards(8);
  counted.emplace_back(kSlice, "32");
  ASSERT_THAT(scene_.add_node("n", {{"hami.io/node-register-xpu", xpus_text(8)}}, counted),
              IsEmpty());
  for (const ScoreMode mode : {ScoreMode::kHami, ScoreMode::kCorrected}) {
    scene_.use_mode(mode);
    const Placed got =
        scene_.place(pod_of({container_of(cards(4)), container_of(slices(1, 24576))}));
    EXPECT_EQ(got.node, "n");
    const std::string text = got.text(kCardText);
    EXPECT_EQ(std::count(text.begin(), text.end(), ':'), 4);
    EXPECT_THAT(got.text(kSliceText), HasSubstr(",XPU,24576,25:;"));
    EXPECT_EQ(got.text(kSliceText).front(), ';') << "the first container has no slice";
  }
}

TEST_F(Kunlun, WhatIsWrittenReadsBack) {
  k8s::StringMap counted = cards(8);
  counted.emplace_back(kSlice, "32");
  scene_.add_node("n", {{"hami.io/node-register-xpu", xpus_text(8)}}, counted);
  k8s::Pod pod = pod_of({container_of(cards(2), true), container_of(slices(2, 49152))});
  pod.annotations = scene_.place(pod).written;
  pod.node_name = "n";
  const auto read = scene_.vendors().decode(pod);
  ASSERT_TRUE(read);
  EXPECT_EQ(scene_.vendors().encode(*read, WallTime{}), pod.annotations);
}

}  // namespace
}  // namespace tessera::vendors
