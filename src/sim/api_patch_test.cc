#include "sim/api_patch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace tessera::sim::api {
namespace {

Value parse(std::string_view text) { return Value::parse(text).value(); }

struct PatchCase {
  std::string_view name, before, patch, after;
};
std::string case_name(const testing::TestParamInfo<PatchCase>& info) {
  return std::string(info.param.name);
}

class MergePatchTest : public testing::TestWithParam<PatchCase> {};
TEST_P(MergePatchTest, Gives) {
  Value value = parse(GetParam().before);
  apply_merge_patch(value, parse(GetParam().patch));
  EXPECT_EQ(value.dump(), GetParam().after);
}
INSTANTIATE_TEST_SUITE_P(
    Table, MergePatchTest,
    testing::ValuesIn(std::vector<PatchCase>{
        {"sets", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
        {"null_removes", R"({"a":1,"b":2})", R"({"a":null})", R"({"b":2})"},
        {"goes_deep", R"({"m":{"a":"1","b":"2"}})", R"({"m":{"a":"3"}})",
         R"({"m":{"a":"3","b":"2"}})"},
        {"lists_are_replaced", R"({"l":[1,2]})", R"({"l":[3]})", R"({"l":[3]})"},
        {"nulls_in_new_maps_do_not_stay", R"({})", R"({"m":{"a":null,"b":1}})", R"({"m":{"b":1}})"},
        {"a_map_takes_the_place_of_a_list", R"({"x":[1]})", R"({"x":{"a":1}})", R"({"x":{"a":1}})"},
    }),
    case_name);

class StrategicPatchTest : public testing::TestWithParam<PatchCase> {};
TEST_P(StrategicPatchTest, Gives) {
  Value value = parse(GetParam().before);
  const Status done = apply_strategic_patch(value, parse(GetParam().patch));
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(value.dump(), GetParam().after);
}
INSTANTIATE_TEST_SUITE_P(
    Table, StrategicPatchTest,
    testing::ValuesIn(std::vector<PatchCase>{
        {"maps_merge", R"({"m":{"a":"1"}})", R"({"m":{"b":"2"}})", R"({"m":{"a":"1","b":"2"}})"},
        {"null_removes", R"({"m":{"a":"1"}})", R"({"m":{"a":null}})", R"({"m":{}})"},
        {"containers_merge_by_name", R"({"containers":[{"name":"a","image":"x"},{"name":"b"}]})",
         R"({"containers":[{"name":"a","image":"y"}]})",
         R"({"containers":[{"name":"a","image":"y"},{"name":"b"}]})"},
        {"a_new_container_is_added", R"({"containers":[{"name":"a"}]})",
         R"({"containers":[{"name":"b"}]})", R"({"containers":[{"name":"a"},{"name":"b"}]})"},
        {"a_container_is_deleted", R"({"containers":[{"name":"a"},{"name":"b"}]})",
         R"({"containers":[{"name":"a","$patch":"delete"}]})", R"({"containers":[{"name":"b"}]})"},
        {"env_inside_containers",
         R"({"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]})",
         R"({"containers":[{"name":"a","env":[{"name":"Y","value":"2"}]}]})",
         R"({"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]}]})"},
        {"conditions_merge_by_type",
         R"({"conditions":[{"type":"Ready","status":"False"},{"type":"X","status":"True"}]})",
         R"({"conditions":[{"type":"Ready","status":"True"}]})",
         R"({"conditions":[{"type":"Ready","status":"True"},{"type":"X","status":"True"}]})"},
        {"taints_are_replaced_as_kubectl_expects", R"({"taints":[{"key":"a"},{"key":"b"}]})",
         R"({"taints":[{"key":"b"}]})", R"({"taints":[{"key":"b"}]})"},
        {"tolerations_are_replaced", R"({"tolerations":[{"key":"a"}]})",
         R"({"tolerations":[{"key":"b"}]})", R"({"tolerations":[{"key":"b"}]})"},
        {"finalizers_join", R"({"finalizers":["a"]})", R"({"finalizers":["b","a"]})",
         R"({"finalizers":["a","b"]})"},
        {"finalizers_leave", R"({"finalizers":["a","b"]})",
         R"({"$deleteFromPrimitiveList/finalizers":["a"]})", R"({"finalizers":["b"]})"},
        {"order_is_set", R"({"containers":[{"name":"a"},{"name":"b"}]})",
         R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a"}]})",
         R"({"containers":[{"name":"b"},{"name":"a"}]})"},
        {"a_map_is_replaced", R"({"m":{"a":"1"}})", R"({"m":{"$patch":"replace","b":"2"}})",
         R"({"m":{"b":"2"}})"},
        {"a_map_is_deleted", R"({"m":{"a":"1"},"n":1})", R"({"m":{"$patch":"delete"}})",
         R"({"n":1})"},
        {"retained_keys", R"({"strategy":{"type":"A","old":{}}})",
         R"({"strategy":{"$retainKeys":["type"],"type":"B"}})", R"({"strategy":{"type":"B"}})"},
        {"a_list_is_replaced", R"({"volumes":[{"name":"a"}]})",
         R"({"volumes":[{"$patch":"replace"},{"name":"b"}]})", R"({"volumes":[{"name":"b"}]})"},
    }),
    case_name);

TEST(StrategicPatchTest, ElementWithoutItsKeyIsNamed) {
  Value value = parse(R"({"containers":[{"name":"a"}]})");
  const Status done = apply_strategic_patch(value, parse(R"({"containers":[{"image":"x"}]})"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what,
            R"(containers: element {"image":"x"} does not contain the merge key name)");
}

class JsonPatchTest : public testing::TestWithParam<PatchCase> {};
TEST_P(JsonPatchTest, Gives) {
  Value value = parse(GetParam().before);
  const Status done = apply_json_patch(value, parse(GetParam().patch));
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(value.dump(), GetParam().after);
}
INSTANTIATE_TEST_SUITE_P(
    Table, JsonPatchTest,
    testing::ValuesIn(std::vector<PatchCase>{
        {"add", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
        {"add_replaces", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        {"add_into_list", R"({"l":[1,3]})", R"([{"op":"add","path":"/l/1","value":2}])",
         R"({"l":[1,2,3]})"},
        {"add_at_the_end", R"({"l":[1]})", R"([{"op":"add","path":"/l/-","value":2}])",
         R"({"l":[1,2]})"},
        {"remove", R"({"a":1,"l":[1,2]})",
         R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/l/0"}])", R"({"l":[2]})"},
        {"replace", R"({"a":1})", R"([{"op":"replace","path":"/a","value":{"b":1}}])",
         R"({"a":{"b":1}})"},
        {"move", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
        {"copy", R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])",
         R"({"a":[1],"b":[1]})"},
        {"test_that_holds", R"({"a":1})",
         R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])", R"({})"},
        {"slashes_and_tildes", R"({"x/y":1,"m~n":2})",
         R"([{"op":"remove","path":"/x~1y"},{"op":"replace","path":"/m~0n","value":3}])",
         R"({"m~n":3})"},
        {"whole_document", R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
    }),
    case_name);

struct RefusedCase {
  std::string_view name, patch, message;
  Code code;
};
class JsonPatchRefusedTest : public testing::TestWithParam<RefusedCase> {};
TEST_P(JsonPatchRefusedTest, SaysWhyAndChangesNothing) {
  const Value before = parse(R"({"a":1,"l":[1]})");
  Value value = before;
  const Status done = apply_json_patch(value, parse(GetParam().patch));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, GetParam().message);
  EXPECT_EQ(done.error().code, GetParam().code);
  EXPECT_EQ(value, before);
}
INSTANTIATE_TEST_SUITE_P(
    Table, JsonPatchRefusedTest,
    testing::ValuesIn(std::vector<RefusedCase>{
        {"failed_test", R"([{"op":"remove","path":"/a"},{"op":"test","path":"/l","value":2}])",
         "test of /l failed", Code::kConflict},
        {"missing_member", R"([{"op":"remove","path":"/b"}])", "path /b does not exist",
         Code::kConflict},
        {"missing_parent", R"([{"op":"add","path":"/b/c","value":1}])", "path /b/c does not exist",
         Code::kConflict},
        {"index_too_large", R"([{"op":"add","path":"/l/2","value":1}])", "path /l/2 does not exist",
         Code::kConflict},
        {"index_no_number", R"([{"op":"replace","path":"/l/x","value":1}])",
         "path /l/x does not exist", Code::kConflict},
        {"unknown_operation", R"([{"op":"swap","path":"/a"}])",
         R"(unknown JSON patch operation "swap")", Code::kInvalid},
        {"no_path", R"([{"op":"remove"}])", R"(JSON patch operation lacks the string "path")",
         Code::kInvalid},
        {"no_value", R"([{"op":"add","path":"/b"}])", "JSON patch operation add lacks a value",
         Code::kInvalid},
        {"no_slash", R"([{"op":"remove","path":"a"}])", R"(path "a" does not begin with /)",
         Code::kInvalid},
        {"no_list", R"({"op":"remove"})", "a JSON patch must be a list of operations",
         Code::kInvalid},
    }),
    [](const auto& row) { return std::string(row.param.name); });

/// Small random trees without nulls, which mean removal in patches.
Value random_tree(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
  if (kind == 0) return Value(*rc::gen::inRange(0, 9));
  if (kind == 1) return Value(std::string(1, *rc::gen::inRange('a', 'f')));
  Value tree = kind == 2 ? Value::array() : Value::object();
  const int size = *rc::gen::inRange(0, 4);
  for (int i = 0; i < size; ++i) {
    if (kind == 2)
      tree.items().push_back(random_tree(depth - 1));
    else
      tree.make(std::string(1, *rc::gen::inRange('a', 'f'))) = random_tree(depth - 1);
  }
  return tree;
}

TEST(MergePatchTest, AppliedTwiceIsAppliedOnceAndWhatItNamesIsThere) {
  EXPECT_TRUE(rc::check([] {
    Value target = random_tree(3);
    const Value patch = random_tree(3);
    apply_merge_patch(target, patch);
    Value again = target;
    apply_merge_patch(again, patch);
    RC_ASSERT(again == target);
    for (const auto& [key, value] : patch.members()) {
      RC_ASSERT(target.has(key));
      if (!value.is_object()) RC_ASSERT(target[key] == value);
    }
  }));
}

}  // namespace
}  // namespace tessera::sim::api
