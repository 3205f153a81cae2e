#include "sim/api_selectors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::sim::api {
namespace {

StoredObject object(std::string_view text) {
  StoredObject stored;
  stored.value = Value::parse(text).value();
  return stored;
}

const char* const kPod =
    R"({"metadata":{"name":"a","namespace":"d","labels":{"app":"web","tier":"1"}},
  "spec":{"nodeName":"n1","schedulerName":"s"},"status":{"phase":"Running"}})";

struct MatchCase {
  std::string_view name, labels, fields;
  bool want;
};
class SelectorTest : public testing::TestWithParam<MatchCase> {};
TEST_P(SelectorTest, MatchesThePod) {
  const auto selector =
      Selector::parse(core_resource("pods"), GetParam().labels, GetParam().fields);
  ASSERT_TRUE(selector) << selector.error().what;
  EXPECT_EQ(selector->matches(object(kPod)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table, SelectorTest,
    testing::ValuesIn(std::vector<MatchCase>{
        {"nothing_asked", "", "", true},
        {"equal", "app=web", "", true},
        {"equal_twice", "app==web", "", true},
        {"other_value", "app=db", "", false},
        {"not_equal", "app!=db", "", true},
        {"not_equal_but_is", "app!=web", "", false},
        {"not_equal_holds_without_the_label", "none!=x", "", true},
        {"in", "app in (db, web)", "", true},
        {"in_without_blank", "app in(web)", "", true},
        {"not_in_the_set", "app in (db)", "", false},
        {"notin", "app notin (db,cache)", "", true},
        {"notin_but_is", "app notin (web)", "", false},
        {"exists", "tier", "", true},
        {"exists_not", "none", "", false},
        {"absent", "!none", "", true},
        {"absent_but_there", "!tier", "", false},
        {"all_of_several", "app in (web,db),tier=1,!none", "", true},
        {"one_of_several_fails", "app=web,tier=2", "", false},
        {"node", "", "spec.nodeName=n1", true},
        {"other_node", "", "spec.nodeName=n2", false},
        {"no_node", "", "spec.nodeName=", false},
        {"name_and_namespace", "", "metadata.name=a,metadata.namespace==d", true},
        {"not_finished", "", "status.phase!=Failed,status.phase!=Succeeded", true},
        {"scheduler", "", "spec.schedulerName!=s", false},
        {"labels_and_fields", "app=web", "spec.nodeName=n2", false},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST(SelectorTest, FlagsThatAreAbsentAreFalse) {
  const auto selector =
      Selector::parse(core_resource("nodes"), "", "spec.unschedulable=false").value();
  EXPECT_TRUE(selector.matches(object(R"({"spec":{}})")));
  EXPECT_FALSE(selector.matches(object(R"({"spec":{"unschedulable":true}})")));
}

TEST(SelectorTest, EventsByTheirObjectInBothForms) {
  const StoredObject event = object(R"({"involvedObject":{"name":"a","uid":"u"},"type":"Warning",
      "source":{"component":"scheduler"}})");
  const Resource& core = core_resource("events");
  const Resource& v1 = *find_resource("events.k8s.io", "v1", "events");
  EXPECT_TRUE(
      Selector::parse(core, "", "involvedObject.name=a,involvedObject.uid=u")->matches(event));
  EXPECT_TRUE(Selector::parse(core, "", "source=scheduler,type=Warning")->matches(event));
  EXPECT_TRUE(Selector::parse(v1, "", "regarding.name=a")->matches(event));
  EXPECT_FALSE(Selector::parse(v1, "", "regarding.name=b")->matches(event));
}

TEST(SelectorTest, UnknownFieldsAreNamed) {
  const auto selector = Selector::parse(core_resource("pods"), "", "spec.color=red");
  ASSERT_FALSE(selector);
  EXPECT_EQ(selector.error().what, "field label not supported: spec.color");
}

TEST(SelectorTest, UnreadableSelectorsAreRefused) {
  for (const char* labels :
       {"a b", "=x", "a in x", "a in (x", "!", "a=b=c", "a,,b", "a notin", "a>1"})
    EXPECT_FALSE(Selector::parse(core_resource("pods"), labels, "")) << labels;
  EXPECT_FALSE(Selector::parse(core_resource("pods"), "", "metadata.name"));
}

}  // namespace
}  // namespace tessera::sim::api
