#include "k8s/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::k8s {
namespace {

using testing::ElementsAre;
using testing::Pair;

Result<Pod> read_pod(std::string_view text, const Keep& keep = {}) {
  json::Parser parser;
  const auto value = parser.parse(text);
  EXPECT_TRUE(value) << text;
  return decode_pod(*value, keep);
}

Result<Node> read_node(std::string_view text, const Keep& keep = {}) {
  json::Parser parser;
  const auto value = parser.parse(text);
  EXPECT_TRUE(value) << text;
  return decode_node(*value, keep);
}

constexpr std::string_view kFullPod = R"({
  "apiVersion":"v1","kind":"Pod",
  "metadata":{"name":"p","namespace":"d","generateName":"p-","uid":"u-1","resourceVersion":"7",
    "creationTimestamp":null,"deletionTimestamp":"2026-08-21T08:00:00Z",
    "labels":{"app":"x","scheduling.x-k8s.io/pod-group":"g"},"annotations":{"a/b":"1","c":"2"},
    "managedFields":[{"fieldsV1":{"f:x":{}}}]},
  "spec":{"nodeName":"n1","schedulerName":"s","runtimeClassName":"rc","priorityClassName":"pc",
    "initContainers":[
      {"name":"i0","resources":{}},
      {"name":"side","restartPolicy":"Always"}],
    "containers":[
      {"name":"c0","env":[],"securityContext":{"privileged":true},
       "resources":{"limits":{"example.com/card":"1","cpu":2,"memory":1.5e9},"requests":{"cpu":"500m"}}},
      {"name":"c1","env":null,"restartPolicy":"Always","resources":null}]},
  "status":{"phase":"Pending","conditions":[
      {"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z"},
      {"type":"PodScheduled","status":"False","lastTransitionTime":"2026-08-21T09:00:00Z"}]}})";

TEST(DecodePod, ReadsWhatASchedulerNeeds) {
  const auto pod = read_pod(kFullPod);
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_EQ(pod->name, "p");
  EXPECT_EQ(pod->ns, "d");
  EXPECT_EQ(pod->generate_name, "p-");
  EXPECT_EQ(pod->uid, "u-1");
  EXPECT_EQ(pod->resource_version, "7");
  EXPECT_EQ(pod->pod_group, "g");
  EXPECT_EQ(pod->node_name, "n1");
  EXPECT_EQ(pod->scheduler_name, "s");
  EXPECT_EQ(pod->runtime_class, "rc");
  EXPECT_EQ(pod->priority_class, "pc");
  EXPECT_TRUE(pod->terminating);
  EXPECT_TRUE(pod->has_annotations);
  EXPECT_EQ(pod->phase, Phase::kPending);
  EXPECT_FALSE(pod->finished());
  EXPECT_FALSE(pod->init_finished);
  EXPECT_EQ(pod->unschedulable_since, *parse_rfc3339("2026-08-21T09:00:00Z"));
  EXPECT_THAT(pod->annotations, ElementsAre(Pair("a/b", "1"), Pair("c", "2")));
}

TEST(DecodePod, ContainersAreInitFirstThenApp) {
  const auto pod = read_pod(kFullPod);
  ASSERT_TRUE(pod);
  ASSERT_EQ(pod->containers.size(), 4U);
  EXPECT_EQ(pod->init_count(), 2U);
  const Container& plain = pod->containers[0];
  EXPECT_TRUE(plain.init);
  EXPECT_FALSE(plain.sidecar);
  EXPECT_TRUE(plain.has_resources);
  EXPECT_FALSE(plain.has_limits);
  EXPECT_TRUE(pod->containers[1].sidecar);
  const Container& app = pod->containers[2];
  EXPECT_EQ(app.name, "c0");
  EXPECT_TRUE(app.privileged);
  EXPECT_TRUE(app.has_env);
  EXPECT_TRUE(app.has_limits);
  EXPECT_THAT(app.limits, ElementsAre(Pair("example.com/card", "1"), Pair("cpu", "2"),
                                      Pair("memory", "1.5e9")));
  EXPECT_THAT(app.requests, ElementsAre(Pair("cpu", "500m")));
  const Container& last = pod->containers[3];
  EXPECT_FALSE(last.init || last.sidecar || last.has_env || last.has_resources || last.privileged);
}

TEST(DecodePod, KeepsOnlyWhatIsAskedFor) {
  Keep keep;
  keep.annotation = [](std::string_view key) { return key == "c"; };
  keep.label = [](std::string_view) { return false; };
  keep.resource = [](std::string_view name) { return name.starts_with("example.com/"); };
  const auto pod = read_pod(kFullPod, keep);
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->annotations, ElementsAre(Pair("c", "2")));
  EXPECT_TRUE(pod->labels.empty());
  EXPECT_EQ(pod->pod_group, "g") << "the group is found whatever labels are kept";
  EXPECT_THAT(pod->containers[2].limits, ElementsAre(Pair("example.com/card", "1")));
  EXPECT_TRUE(pod->containers[2].requests.empty());
}

TEST(DecodePod, EmptyAndNullPartsAreFine) {
  for (std::string_view text : {"{}", R"({"metadata":null,"spec":null,"status":null})",
                                R"({"metadata":{},"spec":{"containers":null},"status":{}})"}) {
    const auto pod = read_pod(text);
    ASSERT_TRUE(pod) << text;
    EXPECT_TRUE(pod->containers.empty());
    EXPECT_FALSE(pod->has_annotations);
    EXPECT_EQ(pod->phase, Phase::kUnknown);
  }
}

TEST(DecodePod, ARepeatedKeyKeepsItsLastValue) {
  const auto pod = read_pod(R"({"metadata":{"annotations":{"a":"1","b":"2","a":"3"}}})");
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->annotations, ElementsAre(Pair("a", "3"), Pair("b", "2")));
}

TEST(DecodePod, PodGroupOfTheSpecCountsWithoutTheLabel) {
  EXPECT_EQ(read_pod(R"({"spec":{"schedulingGroup":{"podGroupName":"g2"}}})")->pod_group, "g2");
  EXPECT_EQ(read_pod(R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"g1"}},
                         "spec":{"schedulingGroup":{"podGroupName":"g2"}}})")
                ->pod_group,
            "g1");
}

TEST(DecodePod, PhasesThatEndAPod) {
  EXPECT_TRUE(read_pod(R"({"status":{"phase":"Succeeded"}})")->finished());
  EXPECT_TRUE(read_pod(R"({"status":{"phase":"Failed"}})")->finished());
  EXPECT_FALSE(read_pod(R"({"status":{"phase":"Running"}})")->finished());
  EXPECT_EQ(read_pod(R"({"status":{"phase":"Odd"}})")->phase, Phase::kUnknown);
}

struct InitCase {
  std::string_view what, containers, statuses;
  bool finished;
};
void PrintTo(const InitCase& c, std::ostream* out) { *out << c.what; }

class InitFinished : public testing::TestWithParam<InitCase> {};
TEST_P(InitFinished, OnlyWhenAllOrdinaryOnesEndedWell) {
  const InitCase& c = GetParam();
  const std::string text = R"({"spec":{"initContainers":)" + std::string(c.containers) +
                           R"(},"status":{"initContainerStatuses":)" + std::string(c.statuses) +
                           "}}";
  const auto pod = read_pod(text);
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_EQ(pod->init_finished, c.finished);
}
constexpr std::string_view kOne = R"([{"name":"a"}])";
constexpr std::string_view kWithSidecar = R"([{"name":"s","restartPolicy":"Always"},{"name":"a"}])";
INSTANTIATE_TEST_SUITE_P(
    Table, InitFinished,
    testing::Values(
        InitCase{"no init containers", "[]", "[]", false},
        InitCase{"no status yet", kOne, "null", false},
        InitCase{"ended with 0", kOne, R"([{"name":"a","state":{"terminated":{"exitCode":0}}}])",
                 true},
        InitCase{"ended with 1", kOne, R"([{"name":"a","state":{"terminated":{"exitCode":1}}}])",
                 false},
        InitCase{"runs", kOne, R"([{"name":"a","state":{"running":{}}}])", false},
        InitCase{
            "sidecar runs", kWithSidecar,
            R"([{"name":"s","state":{"running":{}}},{"name":"a","state":{"terminated":{"exitCode":0}}}])",
            true},
        InitCase{"only a sidecar", R"([{"name":"s","restartPolicy":"Always"}])",
                 R"([{"name":"s","state":{"terminated":{"exitCode":0}}}])", false},
        InitCase{"second has no status", R"([{"name":"a"},{"name":"b"}])",
                 R"([{"name":"a","state":{"terminated":{"exitCode":0}}}])", false}));

struct BadCase {
  std::string_view text, error;
};
void PrintTo(const BadCase& c, std::ostream* out) { *out << c.text; }

class PodRefused : public testing::TestWithParam<BadCase> {};
TEST_P(PodRefused, NamingFieldAndValue) {
  const auto pod = read_pod(GetParam().text);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, Code::kInvalid);
  EXPECT_EQ(pod.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, PodRefused,
    testing::Values(
        BadCase{"[]", "pod: expected an object, got an array"},
        BadCase{"null", "pod: expected an object, got null"},
        BadCase{R"({"metadata":5})", "metadata: expected an object, got number 5"},
        BadCase{R"({"metadata":{"name":5.50}})",
                "metadata.name: expected a string, got number 5.50"},
        BadCase{R"({"metadata":{"annotations":{"a/b":true}}})",
                R"(metadata.annotations["a/b"]: expected a string, got true)"},
        BadCase{R"({"metadata":{"labels":"x"}})",
                R"(metadata.labels: expected an object, got string "x")"},
        BadCase{R"({"spec":{"containers":{}}})",
                "spec.containers: expected an array, got an object"},
        BadCase{R"({"spec":{"containers":[{},7]}})",
                "spec.containers[1]: expected an object, got number 7"},
        BadCase{
            R"({"spec":{"containers":[{},{"resources":{"limits":{"example.com/card":"1x"}}}]}})",
            R"(spec.containers[1].resources.limits["example.com/card"]: invalid quantity "1x": unknown suffix)"},
        BadCase{
            R"({"spec":{"initContainers":[{"resources":{"requests":{"cpu":[]}}}]}})",
            R"(spec.initContainers[0].resources.requests["cpu"]: expected a quantity, got an array)"},
        BadCase{
            R"({"spec":{"containers":[{"securityContext":{"privileged":"yes"}}]}})",
            R"(spec.containers[0].securityContext.privileged: expected true or false, got string "yes")"},
        BadCase{R"({"spec":{"schedulingGroup":{"podGroupName":1}}})",
                "spec.schedulingGroup.podGroupName: expected a string, got number 1"},
        BadCase{R"({"status":{"phase":1}})", "status.phase: expected a string, got number 1"},
        BadCase{
            R"({"status":{"conditions":[{},{"type":"PodScheduled","status":"False","lastTransitionTime":"soon"}]}})",
            R"(status.conditions[1].lastTransitionTime: invalid RFC 3339 time "soon")"},
        BadCase{
            R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","lastTransitionTime":5}]}})",
            "status.conditions[0].lastTransitionTime: expected a string, got number 5"}));

TEST(DecodePod, WrongTypesInFieldsThatNobodyNeedsAreFine) {
  EXPECT_TRUE(read_pod(R"({"kind":5,"metadata":{"managedFields":7,"ownerReferences":"x"},
    "spec":{"volumes":3,"containers":[{"image":false,"ports":{}}]},
    "status":{"podIP":[],"conditions":[{"type":"Ready","lastTransitionTime":4}]}})"));
  Keep none;
  none.annotation = none.label = none.resource = [](std::string_view) { return false; };
  EXPECT_TRUE(read_pod(R"({"metadata":{"annotations":{"x":5}},
    "spec":{"containers":[{"resources":{"limits":{"cpu":"bad"}}}]}})",
                       none));
}

TEST(DecodeNode, ReadsNameMapsAndResources) {
  Keep keep;
  keep.resource = [](std::string_view name) { return name != "cpu"; };
  const auto node = read_node(R"({"metadata":{"name":"n1","uid":"u","resourceVersion":"9",
      "labels":{"zone":"a"},"annotations":{"example.com/register":"x"}},
    "status":{"allocatable":{"cpu":"4","example.com/card":"8"},"capacity":{"example.com/card":10}}})",
                              keep);
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->uid, "u");
  EXPECT_EQ(node->resource_version, "9");
  EXPECT_THAT(node->labels, ElementsAre(Pair("zone", "a")));
  EXPECT_THAT(node->annotations, ElementsAre(Pair("example.com/register", "x")));
  EXPECT_THAT(node->allocatable, ElementsAre(Pair("example.com/card", "8")));
  EXPECT_THAT(node->capacity, ElementsAre(Pair("example.com/card", "10")));
}

TEST(DecodeNode, ErrorsNameTheField) {
  EXPECT_EQ(read_node("5").error().what, "node: expected an object, got number 5");
  EXPECT_EQ(read_node(R"({"status":{"capacity":{"a":{}}}})").error().what,
            R"(status.capacity["a"]: expected a quantity, got an object)");
  EXPECT_EQ(read_node(R"({"metadata":{"name":[]}})").error().what,
            "metadata.name: expected a string, got an array");
}

TEST(DecodeLease, ReadsWhoHoldsIt) {
  json::Parser parser;
  const auto lease = decode_lease(*parser.parse(R"({"metadata":{"name":"hami-scheduler",
    "namespace":"kube-system","uid":"u","resourceVersion":"7"},"spec":{"holderIdentity":"a_1",
    "leaseDurationSeconds":15,"renewTime":"2026-08-21T08:00:00.000001Z","leaseTransitions":3}})"));
  ASSERT_TRUE(lease) << lease.error().what;
  EXPECT_EQ(lease->ns + "/" + lease->name, "kube-system/hami-scheduler");
  EXPECT_EQ(lease->uid + lease->resource_version, "u7");
  EXPECT_EQ(lease->holder, "a_1");
  EXPECT_EQ(lease->duration_seconds, 15);
  EXPECT_EQ(lease->renew_time, "2026-08-21T08:00:00.000001Z");
}

TEST(DecodeLease, ALeaseThatNobodyHoldsIsInOrder) {
  json::Parser parser;
  for (const char* text : {R"({"metadata":{"name":"l"}})", R"({"metadata":{"name":"l"},"spec":{}})",
                           R"({"metadata":{"name":"l"},"spec":{"holderIdentity":null}})"}) {
    const auto lease = decode_lease(*parser.parse(text));
    ASSERT_TRUE(lease) << text;
    EXPECT_EQ(lease->holder, "");
    EXPECT_EQ(lease->duration_seconds, 0);
  }
}

TEST(DecodeLease, ErrorsNameTheField) {
  json::Parser parser;
  EXPECT_EQ(decode_lease(*parser.parse("5")).error().what,
            "lease: expected an object, got number 5");
  EXPECT_EQ(decode_lease(*parser.parse(R"({"spec":{"leaseDurationSeconds":"15"}})")).error().what,
            R"(spec.leaseDurationSeconds: expected a whole number, got string "15")");
  EXPECT_EQ(decode_lease(*parser.parse(R"({"spec":{"holderIdentity":7}})")).error().what,
            "spec.holderIdentity: expected a string, got number 7");
}

TEST(DecodeMeta, ReadsIdentityOfAnyObject) {
  json::Parser parser;
  const auto value =
      parser.parse(R"({"metadata":{"name":"q","namespace":"d","uid":"u","resourceVersion":"3"}})");
  const auto meta = decode_meta(*value);
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->name + meta->ns + meta->uid + meta->resource_version, "qdu3");
  EXPECT_FALSE(decode_meta(*parser.parse("[]")));
  EXPECT_FALSE(decode_meta(*parser.parse(R"({"metadata":{"uid":5}})")));
}

TEST(StringMapFind, GivesTheValueOrNothing) {
  const StringMap map{{"a", "1"}};
  ASSERT_NE(find(map, "a"), nullptr);
  EXPECT_EQ(*find(map, "a"), "1");
  EXPECT_EQ(find(map, "b"), nullptr);
}

// ---- quotas and what decides which of them a pod falls under

TEST(DecodeQuota, KeepsTheKeysOfOurResources) {
  json::Parser parser;
  const auto value =
      parser.parse(R"({"metadata":{"namespace":"a","name":"q","uid":"u","resourceVersion":"7"},
    "spec":{"hard":{"limits.example.com/card":"3","requests.example.com/card":4,"limits.cpu":"8","pods":"9"},
            "scopes":["Terminating"],
            "scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["x"]}]}},
    "status":{"hard":7}})");
  ASSERT_TRUE(value);
  Keep keep;
  keep.resource = [](std::string_view name) { return name == "example.com/card"; };
  const auto quota = decode_quota(*value, keep);
  ASSERT_TRUE(quota) << quota.error().what;
  EXPECT_EQ(quota->ns + "/" + quota->name + "/" + quota->uid + "/" + quota->resource_version,
            "a/q/u/7");
  EXPECT_EQ(quota->hard,
            (StringMap{{"limits.example.com/card", "3"}, {"requests.example.com/card", "4"}}));
  EXPECT_EQ(quota->scopes, std::vector<std::string>{"Terminating"});
  ASSERT_EQ(quota->selectors.size(), 1u);
  EXPECT_EQ(quota->selectors[0].match, "In");
  EXPECT_EQ(decode_quota(*value)->hard.size(), 4u) << "without Keep everything is kept";
}

TEST(DecodeQuota, ErrorsNameTheField) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"7", "resourcequota: expected an object, got number 7"},
      {R"({"spec":{"hard":{"pods":{}}}})",
       R"(spec.hard["pods"]: expected a quantity, got an object)"},
      {R"({"spec":{"scopes":[7]}})", "spec.scopes: expected a list of strings, got number 7"},
      {R"({"spec":{"scopeSelector":[]}})", "spec.scopeSelector: expected an object, got an array"},
      {R"({"spec":{"scopeSelector":{"matchExpressions":[{"values":[{}]}]}}})",
       "spec.scopeSelector.matchExpressions.values: expected a list of strings, got an object"},
  };
  for (const auto& [text, want] : cases) {
    json::Parser parser;
    const auto quota = decode_quota(*parser.parse(text));
    ASSERT_FALSE(quota) << text;
    EXPECT_EQ(quota.error().what, want) << text;
  }
}

TEST(DecodePod, QualityOfServiceAndDeadline) {
  struct Row {
    std::string_view name, spec, status;
    bool best_effort, has_deadline;
  };
  const Row rows[] = {
      {"nothing asked", R"({"containers":[{"name":"c"}]})", "{}", true, false},
      {"a device is no compute",
       R"({"containers":[{"name":"c","resources":{"limits":{"example.com/card":"1"}}}]})", "{}",
       true, false},
      {"cpu in requests",
       R"({"containers":[{"name":"c"},{"name":"d","resources":{"requests":{"cpu":"100m"}}}]})",
       "{}", false, false},
      {"memory in limits",
       R"({"containers":[{"name":"c","resources":{"limits":{"memory":"1Gi"}}}]})", "{}", false,
       false},
      {"in an init container",
       R"({"initContainers":[{"name":"i","resources":{"limits":{"cpu":1}}}],"containers":[{"name":"c"}]})",
       "{}", false, false},
      {"0 is not asked", R"({"containers":[{"name":"c","resources":{"limits":{"cpu":"0"}}}]})",
       "{}", true, false},
      {"for the pod as a whole",
       R"({"resources":{"limits":{"cpu":"1"}},"containers":[{"name":"c"}]})", "{}", false, false},
      {"the class given by the API server stays", R"({"containers":[{"name":"c"}]})",
       R"({"qosClass":"Burstable"})", false, false},
      {"and the other way", R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})",
       R"({"qosClass":"BestEffort"})", true, false},
      {"deadline", R"({"activeDeadlineSeconds":0,"containers":[{"name":"c"}]})", "{}", true, true},
      {"no deadline", R"({"activeDeadlineSeconds":null,"containers":[{"name":"c"}]})", "{}", true,
       false},
  };
  Keep keep;
  keep.resource = [](std::string_view name) { return name == "example.com/card"; };
  for (const Row& row : rows) {
    json::Parser parser;
    const auto pod =
        decode_pod(*parser.parse(R"({"metadata":{"name":"p"},"spec":)" + std::string(row.spec) +
                                 R"(,"status":)" + std::string(row.status) + "}"),
                   keep);
    ASSERT_TRUE(pod) << row.name << pod.error().what;
    EXPECT_EQ(pod->best_effort, row.best_effort) << row.name;
    EXPECT_EQ(pod->has_deadline, row.has_deadline) << row.name;
  }
}

}  // namespace
}  // namespace tessera::k8s
