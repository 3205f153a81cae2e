// What every vendor owes to the rules that all share. The rows come from the table: a new vendor is
// tested here from its first line on, with whatever its row names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "vendors/annotations.h"
#include "vendors/codec.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kNow{};
constexpr VendorSwitches kAll{.ascend = true, .iluvatar = true};

const Vendors& everything() {
  static const Vendors vendors =
      *Vendors::make(parse_device_config(default_device_config(), kAll).config);
  return vendors;
}

class VendorSuite : public testing::TestWithParam<std::size_t> {
 protected:
  const Vendors& vendors_ = everything();
  const VendorId id_{static_cast<std::uint16_t>(GetParam())};
  const Vendor& row_ = vendors_.at(id_);

  /// Four cards, by the register annotation or, where the vendor reads none, by the number counted.
  k8s::Node node() const {
    k8s::Node node;
    node.name = "n1";
    if (!row_.count_resource.empty()) {
      node.allocatable = node.capacity = {{row_.count_resource, "4"}};
    }
    if (row_.register_key.empty()) return node;
    std::vector<core::Device> cards(4);
    for (std::uint32_t i = 0; i < cards.size(); ++i) {
      cards[i].id = row_.word + "-" + std::to_string(i);
      cards[i].index = i;
      cards[i].slots = 10;
      cards[i].memory = {98304};
      cards[i].cores = {100};
      cards[i].model = row_.word;
      cards[i].healthy = true;
    }
    node.annotations = {{row_.register_key, encode_register_json(cards)}};
    return node;
  }

  /// A container that asks `count` cards and, where there is such a resource, some memory.
  k8s::Container asking(const std::string& count = "1") const {
    k8s::StringMap limits = {{row_.count_resource, count}};
    if (!row_.memory_resource.empty()) {
      limits.emplace_back(row_.memory_resource,
                          std::to_string(8192 / std::max<std::int64_t>(row_.memory_factor, 1)));
    }
    return container_of(std::move(limits));
  }

  PolicyDefaults defaults() const {
    PolicyDefaults d;
    d.node = policies::find_node_policy("binpack");
    d.devices = {policies::find_device_policy("spread")};
    d.words = {"spread", "binpack"};
    return d;
  }

  Result<core::Request> request(const k8s::Pod& pod) const {
    auto demand = vendors_.demand(pod, defaults());
    if (!demand) return tl::unexpected(demand.error());
    return std::move(demand->request);
  }

  core::Constraints constraints(k8s::StringMap annotations) const {
    return pod_constraints(pod_of({}, std::move(annotations)), row_, id_);
  }
};

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = everything().all()[info.param].word;
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rows, VendorSuite,
                         testing::Range<std::size_t>(0, everything().all().size()), name_of);

// ---- the row

TEST_P(VendorSuite, TheRowSaysWhatItMustSay) {
  EXPECT_FALSE(row_.word.empty());
  EXPECT_EQ(row_.word.find_first_of(",:;"), std::string::npos) << "it stands in device texts";
  EXPECT_FALSE(row_.section.empty());
  EXPECT_FALSE(row_.count_resource.empty()) << "in the default configuration";
  EXPECT_FALSE(row_.allocated_key.empty()) << "or nothing is found again after a restart";
  EXPECT_TRUE(!row_.register_key.empty() || row_.devices) << "or its devices come from nowhere";
  EXPECT_EQ(row_.rules.hooks, row_.hooks.get());
  EXPECT_THAT(vendors_.resource_names(), Contains(row_.count_resource));
  const VendorDescription shown = vendors_.table().at(GetParam());
  EXPECT_EQ(shown.word, row_.word);
  EXPECT_EQ(shown.locks_node, row_.locks_node);
  EXPECT_GE(shown.memory_unit, 1);
}

TEST_P(VendorSuite, ItsKeysAreItsOwn) {
  for (std::size_t other = 0; other < vendors_.all().size(); ++other) {
    if (other == GetParam()) continue;
    const Vendor& o = vendors_.all()[other];
    EXPECT_NE(o.word, row_.word);
    EXPECT_NE(o.count_resource, row_.count_resource) << o.word;
    EXPECT_NE(o.allocated_key, row_.allocated_key) << o.word;
    if (!row_.register_key.empty()) {
      EXPECT_NE(o.register_key, row_.register_key) << o.word;
    }
  }
}

TEST_P(VendorSuite, DecodersKeepAllThatItReads) {
  const k8s::Keep keep = vendors_.keep();
  std::vector<std::string> keys = {row_.register_key,  row_.handshake_key,   row_.score_key,
                                   row_.cordon_key,    row_.to_allocate_key, row_.allocated_key,
                                   row_.use_model_key, row_.nouse_model_key, row_.numa_bind_key,
                                   row_.mode_key};
  for (const IdKeys& pair : row_.id_keys) {
    keys.push_back(pair.use);
    keys.push_back(pair.nouse);
  }
  for (const auto* list : {&row_.pod_keys, &row_.user_keys, &row_.node_keys}) {
    keys.insert(keys.end(), list->begin(), list->end());
  }
  for (const std::string& key : keys) {
    if (!key.empty()) {
      EXPECT_TRUE(keep.annotation(key)) << key;
    }
  }
  for (const std::string& resource : vendors_.resource_names())
    EXPECT_TRUE(keep.resource(resource));
}

TEST_P(VendorSuite, WhatOnlySchedulersAndAgentsWriteIsStripped) {
  for (const std::string& key : {row_.to_allocate_key, row_.allocated_key}) {
    if (!key.empty()) {
      EXPECT_TRUE(vendors_.is_scheduler_key(key)) << key;
    }
  }
  for (const std::string& key : row_.pod_keys) EXPECT_TRUE(vendors_.is_scheduler_key(key)) << key;
  std::vector<std::string> users = row_.user_keys;
  for (const IdKeys& pair : row_.id_keys) {
    users.push_back(pair.use);
    users.push_back(pair.nouse);
  }
  for (const auto& key : {row_.use_model_key, row_.nouse_model_key, row_.mode_key}) {
    users.push_back(key);
  }
  for (const std::string& key : users) {
    if (!key.empty()) {
      EXPECT_FALSE(vendors_.is_scheduler_key(key)) << key;
    }
  }
}

// ---- nodes

TEST_P(VendorSuite, ANodeWithItsCardsIsRead) {
  const NodeReading got = vendors_.read_node(node());
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_TRUE(got.has_register);
  ASSERT_EQ(got.spec.devices.size(), 4u);
  for (const core::Device& d : got.spec.devices) {
    EXPECT_EQ(d.vendor, id_);
    EXPECT_TRUE(d.healthy);
    EXPECT_GT(d.slots, 0);
  }
  for (std::size_t i = 0; i < got.spec.offered.size(); ++i) {
    EXPECT_EQ(got.spec.offered[i], i == GetParam()) << vendors_.all()[i].word;
  }
}

TEST_P(VendorSuite, CardsAreOfferedWhileTheyAreCounted) {  // D9
  const auto offered = [&](std::string allocatable, std::string capacity) {
    k8s::Node n = node();
    n.allocatable = {{row_.count_resource, std::move(allocatable)}};
    n.capacity = {{row_.count_resource, std::move(capacity)}};
    const NodeReading got = vendors_.read_node(n);
    return static_cast<bool>(got.spec.offered[GetParam()]);
  };
  EXPECT_TRUE(offered("4", "4"));
  EXPECT_FALSE(offered("0", "0"));
  EXPECT_EQ(offered("0", "4"), row_.offered_by_capacity);
  EXPECT_EQ(offered("4", "0"), !row_.offered_by_capacity);
  k8s::Node bare = node();
  bare.allocatable.clear();
  bare.capacity.clear();
  EXPECT_FALSE(vendors_.read_node(bare).spec.offered[GetParam()]);
}

TEST_P(VendorSuite, ABadRegistrationCostsThisVendorOnly) {  // W-13
  if (row_.register_key.empty()) return;  // nothing to spoil: read from what kubelet counts
  const Vendor* other = nullptr;
  for (const Vendor& v : vendors_.all()) {
    if (v.word != row_.word && !v.register_key.empty() && !v.devices) other = &v;
  }
  ASSERT_NE(other, nullptr);
  for (const auto* bad : {"[null]", R"([{"id":""}])", R"([{"id":"a"},{"id":"a"}])", "{"}) {
    k8s::Node n = node();
    n.annotations = {
        {row_.register_key, bad},
        {other->register_key, R"([{"id":"good","count":1,"devmem":1,"devcore":1,"health":true}])"}};
    const NodeReading got = vendors_.read_node(n);
    EXPECT_THAT(got.problems, Contains(HasSubstr(row_.register_key))) << bad;
    ASSERT_EQ(got.spec.devices.size(), 1u) << bad;
    EXPECT_EQ(got.spec.devices[0].id, "good") << bad;
  }
}

TEST_P(VendorSuite, CordonedCardsAreClosed) {
  if (row_.cordon_key.empty()) return;  // this vendor has no such annotation
  k8s::Node n = node();
  n.annotations.emplace_back(row_.cordon_key, " x ,,y");
  EXPECT_THAT(vendors_.read_node(n).spec.cordoned, ElementsAre("x", "y"));
}

// ---- asks

TEST_P(VendorSuite, AContainerAsksByTheCountResource) {
  const k8s::Pod pod = pod_of({container_of({}), asking("2")});
  EXPECT_TRUE(vendors_.asks_devices(pod));
  const auto got = request(pod);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_THAT(got->positions.at(0).asks, IsEmpty());
  ASSERT_EQ(got->positions.at(1).asks.size(), 1u);
  const core::DeviceAsk& ask = got->positions[1].asks[0];
  EXPECT_EQ(ask.vendor, id_);
  EXPECT_EQ(ask.count, 2);
  if (!row_.memory_resource.empty()) {
    EXPECT_GE(ask.memory.v, 8192) << "never less than asked";
  }
  EXPECT_EQ(vendors_.needs_lock(*got), row_.locks_node);
}

TEST_P(VendorSuite, AShareOfCoresIsAsked) {
  if (row_.core_resource.empty()) return;  // this vendor shares no cores
  k8s::Container c = asking();
  c.limits.emplace_back(row_.core_resource, "30");
  const auto got = request(pod_of({c}));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_GE(got->positions.at(0).asks.at(0).cores.v, 0);
  EXPECT_LE(got->positions.at(0).asks.at(0).cores.v, 100);
}

TEST_P(VendorSuite, Case98CountsAndAmountsThatCannotBeServedNeverBecomeNoDevice) {
  for (const auto* bad : {"-1", "1.5", "x", "99999999999999999999"}) {
    EXPECT_FALSE(request(pod_of({asking(bad)}))) << bad;
    EXPECT_FALSE(vendors_.mutate(pod_of({asking(bad)}))) << bad;
  }
  for (const std::string& resource : {row_.memory_resource, row_.core_resource}) {
    if (resource.empty()) continue;
    for (const auto* bad : {"-1", "1500m", "x"}) {
      k8s::Container c = container_of({{row_.count_resource, "1"}, {resource, bad}});
      EXPECT_FALSE(request(pod_of({c}))) << resource << " " << bad;
      EXPECT_FALSE(vendors_.mutate(pod_of({c}))) << resource << " " << bad;
    }
  }
  if (!row_.memory_resource.empty()) {
    k8s::Container c = container_of({{row_.count_resource, "1"}, {row_.memory_resource, "16Gi"}});
    const auto got = vendors_.mutate(pod_of({c}));
    ASSERT_FALSE(got) << "a card has no 16 Gi MiB";
    EXPECT_THAT(got.error().what, HasSubstr("write "));
  }
  const k8s::Pod none = pod_of({container_of({{row_.count_resource, "0"}})});
  EXPECT_FALSE(vendors_.asks_devices(none));
  ASSERT_TRUE(vendors_.mutate(none));
  EXPECT_FALSE(vendors_.mutate(none)->uses_device) << "zero cards is no device pod";
}

TEST_P(VendorSuite, Case98AShareWithoutCountIsCountedOrNotOurs) {
  for (const std::string& resource : {row_.memory_resource, row_.core_resource}) {
    if (resource.empty()) continue;
    k8s::Pod pod = pod_of({container_of({{resource, "30"}})});
    const auto got = vendors_.mutate(pod);
    if (!got || !got->uses_device) continue;  // denied, or left alone
    for (const auto& limit : got->containers[0].set_limits) {
      k8s::StringMap& limits = pod.containers[0].limits;
      std::erase_if(limits, [&](const auto& old) { return old.first == limit.first; });
      limits.push_back(limit);
    }
    const auto asks = request(pod);
    ASSERT_TRUE(asks) << asks.error().what;
    EXPECT_TRUE(asks->asks_devices()) << "moved to our scheduler, yet nothing would be reserved";
  }
}

TEST_P(VendorSuite, Case99LimitsAloneAreEnough) {
  k8s::Container c = asking();
  c.requests.clear();
  k8s::Pod pod = pod_of({c});
  pod.has_annotations = false;
  const auto mutated = vendors_.mutate(pod);
  ASSERT_TRUE(mutated) << mutated.error().what;
  EXPECT_TRUE(mutated->uses_device);
  EXPECT_EQ(mutated->containers.size(), 1u);
  EXPECT_TRUE(request(pod));
}

TEST_P(VendorSuite, AContainerOfAnotherVendorIsLeftAlone) {
  const auto got = vendors_.mutate(pod_of({container_of({{"cpu", "1"}})}));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->uses_device);
  EXPECT_THAT(got->containers[0].set_limits, IsEmpty());
  EXPECT_THAT(got->containers[0].set_requests, IsEmpty());
}

// ---- lists

TEST_P(VendorSuite, ListsOfIds) {
  for (const IdKeys& keys : row_.id_keys) {
    EXPECT_THAT(constraints({{keys.use, " a ,,b"}}).use_ids, ElementsAre("a", "b")) << keys.use;
    EXPECT_THAT(constraints({{keys.nouse, "a,"}}).nouse_ids, ElementsAre("a")) << keys.nouse;
    EXPECT_THAT(constraints({{keys.use, " "}}).use_ids, IsEmpty()) << keys.use;
  }
  if (row_.id_keys.size() < 2) return;
  const IdKeys& first = row_.id_keys[0];
  const IdKeys& second = row_.id_keys[1];
  EXPECT_THAT(constraints({{first.use, "a,b"}, {second.use, "b,c"}}).use_ids, ElementsAre("b"));
  EXPECT_THAT(constraints({{first.nouse, "a"}, {second.nouse, "b"}}).nouse_ids,
              ElementsAre("a", "b"));
}

TEST_P(VendorSuite, ListsOfModels) {
  if (!row_.use_model_key.empty()) {
    EXPECT_THAT(constraints({{row_.use_model_key, "x1, y"}}).use_models, ElementsAre("X1", "Y"));
  }
  if (!row_.nouse_model_key.empty()) {
    EXPECT_THAT(constraints({{row_.nouse_model_key, "x1,"}}).nouse_models, ElementsAre("X1"));
  }
}

TEST_P(VendorSuite, IdsDecideWhichCardIsTaken) {
  SceneOfVendors scene(everything());
  const k8s::Node n = node();
  ASSERT_THAT(scene.add_node("n1", n.annotations, n.capacity), IsEmpty());
  const core::NodeSpec& spec = scene.cluster().node(scene.cluster().find_node("n1")).spec;
  const std::string wanted = spec.devices.at(2).id;
  for (const IdKeys& keys : row_.id_keys) {
    const Placed got = scene.place(pod_of({asking()}, {{keys.use, wanted}}));
    EXPECT_EQ(got.node, "n1") << got.refusal;
    EXPECT_THAT(got.text(row_.allocated_key), HasSubstr(wanted + "," + row_.word + ","));
    const Placed none = scene.place(pod_of({asking()}, {{keys.use, "no-such-card"}}));
    EXPECT_THAT(none.refusal, HasSubstr("CardUuidMismatch")) << keys.use;
  }
}

// ---- decisions

TEST_P(VendorSuite, ADecisionIsWrittenWithOneEntryPerPositionAndReadsBack) {  // S-1
  SceneOfVendors scene(everything());
  const k8s::Node n = node();
  ASSERT_THAT(scene.add_node("n1", n.annotations, n.capacity), IsEmpty());
  k8s::Pod pod = pod_of({container_of({}, true), asking(), container_of({}), asking()});
  const Placed got = scene.place(pod);
  ASSERT_EQ(got.node, "n1") << got.refusal;
  const std::string text = got.text(row_.allocated_key);
  EXPECT_EQ(std::count(text.begin(), text.end(), ';'), 4) << text;
  EXPECT_EQ(text.front(), ';') << text;
  if (!row_.to_allocate_key.empty()) {
    EXPECT_EQ(got.text(row_.to_allocate_key), text);
  }
  pod.annotations = got.written;
  pod.node_name = "n1";
  std::vector<std::string> problems;
  const auto back = vendors_.decode(pod, &problems);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(back->grants.size(), 2u);
  EXPECT_EQ(back->grants[0].position, 1u);
  EXPECT_EQ(back->grants[1].position, 3u);
  EXPECT_EQ(back->kinds.size(), 4u);
  const k8s::StringMap again = vendors_.encode(*back, kNow);
  for (const auto& [key, value] : again) EXPECT_EQ(got.text(key), value) << key;
  EXPECT_EQ(again.size(), got.written.size());
  EXPECT_THAT(vendors_.carried_keys(pod), Contains(row_.allocated_key));
}

TEST_P(VendorSuite, TextsOfAPodThatAsksNothingDoNotCount) {  // S-12
  const k8s::Pod pod =
      pod_of({container_of({{"cpu", "1"}})}, {{row_.allocated_key, "x," + row_.word + ",1,1:;"}});
  EXPECT_EQ(vendors_.decode(pod).error().code, Code::kNotFound);
}

TEST_P(VendorSuite, OddTextsAreNoAllocation) {  // case 28
  for (const auto* odd : {"", ";", "x", ":::;;", "x,y,1:;", "x,y,99999999999,0:;"}) {
    EXPECT_FALSE(vendors_.decode(pod_of({asking()}, {{row_.allocated_key, odd}}))) << odd;
  }
}

// ---- quotas

TEST_P(VendorSuite, Case110ItsResourcesCanBeLimited) {
  const std::pair<std::string, core::QuotaKind> resources[] = {
      {row_.count_resource, core::QuotaKind::kCount},
      {row_.memory_resource, core::QuotaKind::kMemory},
      {row_.core_resource, core::QuotaKind::kCores}};
  for (const auto& [resource, kind] : resources) {
    if (resource.empty()) continue;
    k8s::ResourceQuota quota;
    quota.hard = {{"limits." + resource, "10"}, {"limits." + resource + "x", "5"}};
    const std::int64_t factor =
        kind == core::QuotaKind::kMemory ? std::max<std::int64_t>(row_.memory_factor, 1) : 1;
    EXPECT_THAT(vendors_.read_quota(quota).spec.limits,
                ElementsAre(core::QuotaLimit{id_, kind, 10 * factor}))
        << resource;
  }
}

}  // namespace
}  // namespace tessera::vendors
