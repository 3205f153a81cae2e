/// Reads and writes, without HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sim/api_server.h"
#include "sim/api_value.h"

namespace tessera::sim {
namespace {

using api::Value;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
constexpr std::string_view kJsonPatch = "application/json-patch+json";

class ApiEngineTest : public testing::Test {
 protected:
  struct Answer {
    int status = 0;
    Value body;
    std::string message() const { return body["message"].text(); }
    std::string version() const { return body["metadata"]["resourceVersion"].text(); }
  };
  Answer call(std::string_view method, const std::string& path, std::string_view body = {},
              std::string_view type = "application/json") {
    const ApiServer::Answer answer = server_->request(method, path, body, type);
    auto parsed = Value::parse(answer.body);
    EXPECT_TRUE(parsed) << answer.body;
    return {answer.status, parsed ? *parsed : Value()};
  }
  static std::string pod(const std::string& name = "") {
    return std::string(kPods) + (name.empty() ? "" : "/" + name);
  }
  Answer make_pod(const std::string& name) {
    return call("POST", pod(),
                R"({"metadata":{"name":")" + name +
                    R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
  Answer bind(const std::string& name, const std::string& node,
              const std::string& metadata = "{}") {
    return call(
        "POST", pod(name) + "/binding",
        R"({"metadata":)" + metadata + R"(,"target":{"kind":"Node","name":")" + node + R"("}})");
  }
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> found;
    const Value list = call("GET", path).body;
    for (const Value& item : list["items"].items())
      found.push_back(item["metadata"]["name"].text());
    return found;
  }

  ManualClock clock_{WallTime(std::chrono::seconds(1'800'000'000))};
  std::unique_ptr<ApiServer> server_ = ApiServer::start({}, clock_).value();
};

TEST_F(ApiEngineTest, ANewPodGetsMetadataAndDefaults) {
  const Answer answer = call("POST", pod(), R"({"apiVersion":"v1","kind":"Pod",
      "metadata":{"name":"a","creationTimestamp":null},
      "spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":1,"cpu":"2"},
              "requests":{"cpu":"1"}}}]},"status":{"phase":"Running"}})");
  ASSERT_EQ(answer.status, 201);
  const Value& made = answer.body;
  EXPECT_EQ(made["kind"].text(), "Pod");
  EXPECT_EQ(made["apiVersion"].text(), "v1");
  EXPECT_EQ(made["metadata"]["namespace"].text(), "default");
  EXPECT_EQ(made["metadata"]["creationTimestamp"].text(), "2027-01-15T08:00:00Z");
  EXPECT_EQ(made["metadata"]["uid"].text().size(), 36U);
  EXPECT_NE(answer.version(), "");
  EXPECT_EQ(made["status"]["phase"].text(), "Pending");
  EXPECT_EQ(made["spec"]["schedulerName"].text(), "default-scheduler");
  EXPECT_EQ(made["spec"]["restartPolicy"].text(), "Always");
  EXPECT_EQ(made["spec"]["containers"].items()[0]["resources"].dump(),
            R"({"limits":{"nvidia.com/gpu":"1","cpu":"2"},)"
            R"("requests":{"cpu":"1","nvidia.com/gpu":"1"}})");
  EXPECT_EQ(call("GET", pod("a")).body, made);
}

TEST_F(ApiEngineTest, GeneratedNamesDiffer) {
  const std::string body = R"({"metadata":{"generateName":"job-"},"spec":{}})";
  const std::string one = call("POST", pod(), body).body["metadata"]["name"].text();
  const std::string two = call("POST", pod(), body).body["metadata"]["name"].text();
  EXPECT_TRUE(one.starts_with("job-"));
  EXPECT_EQ(one.size(), 9U);
  EXPECT_NE(one, two);
}

struct RefusedCase {
  std::string_view name, method, path, body;
  int status;
  std::string_view reason, message;
  std::string_view type = "application/json";
};
class ApiRefusedTest : public ApiEngineTest, public testing::WithParamInterface<RefusedCase> {};
TEST_P(ApiRefusedTest, WithAStatusObject) {
  ASSERT_EQ(make_pod("a").status, 201);
  const RefusedCase& row = GetParam();
  const Answer answer = call(row.method, std::string(row.path), row.body, row.type);
  EXPECT_EQ(answer.status, row.status);
  EXPECT_EQ(answer.body["kind"].text(), "Status");
  EXPECT_EQ(answer.body["apiVersion"].text(), "v1");
  EXPECT_EQ(answer.body["status"].text(), "Failure");
  EXPECT_EQ(answer.body["reason"].text(), row.reason);
  EXPECT_EQ(answer.body["code"].integer(), row.status);
  EXPECT_THAT(answer.message(), HasSubstr(std::string(row.message)));
}
constexpr std::string_view kPodA = "/api/v1/namespaces/default/pods/a";
INSTANTIATE_TEST_SUITE_P(
    Table, ApiRefusedTest,
    testing::ValuesIn(std::vector<RefusedCase>{
        {"already_there", "POST", kPods, R"({"metadata":{"name":"a"}})", 409, "AlreadyExists",
         R"(pods "a" already exists)"},
        {"no_such_namespace", "POST", "/api/v1/namespaces/nope/pods",
         R"({"metadata":{"name":"b"}})", 404, "NotFound", R"(namespaces "nope" not found)"},
        {"no_such_pod", "GET", "/api/v1/namespaces/default/pods/b", "", 404, "NotFound",
         R"(pods "b" not found)"},
        {"no_such_lease", "GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/b", "",
         404, "NotFound", R"(leases.coordination.k8s.io "b" not found)"},
        {"no_such_resource", "GET", "/api/v1/widgets", "", 404, "NotFound",
         "the server could not find the requested resource"},
        {"no_such_subresource", "GET", "/api/v1/namespaces/default/pods/a/log", "", 404, "NotFound",
         "the server could not find the requested resource"},
        {"wrong_method", "POST", kPodA, "{}", 405, "MethodNotAllowed",
         "does not allow this method"},
        {"no_json", "POST", kPods, "{", 400, "BadRequest",
         "json parse error: unexpected end of JSON input"},
        {"no_object", "POST", kPods, "[]", 400, "BadRequest", "must be of type Pod"},
        {"wrong_kind", "POST", kPods, R"({"kind":"Node"})", 400, "BadRequest",
         R"(must be of type Pod): kind is "Node")"},
        {"wrong_version", "POST", kPods, R"({"apiVersion":"v2"})", 400, "BadRequest",
         "the API version in the data (v2)"},
        {"no_name", "POST", kPods, R"({"metadata":{}})", 422, "Invalid",
         "metadata.name: Required value"},
        {"bad_name", "POST", kPods, R"({"metadata":{"name":"A_b"}})", 422, "Invalid",
         R"(metadata.name: Invalid value: "A_b")"},
        {"annotation_no_string", "POST", kPods,
         R"({"metadata":{"name":"b","annotations":{"k":1}}})", 400, "BadRequest",
         "metadata.annotations[k] is 1, not a string"},
        {"other_namespace_in_body", "POST", kPods, R"({"metadata":{"name":"b","namespace":"x"}})",
         400, "BadRequest", "does not match the namespace sent on the request (x and default)"},
        {"put_of_another_name", "PUT", kPodA, R"({"metadata":{"name":"b"}})", 400, "BadRequest",
         "the name of the object (b) does not match the name on the URL (a)"},
        {"stale_put", "PUT", kPodA, R"({"metadata":{"name":"a","resourceVersion":"1"}})", 409,
         "Conflict",
         R"(Operation cannot be fulfilled on pods "a": the object has been modified; please apply )"
         R"(your changes to the latest version and try again)"},
        {"stale_merge_patch", "PATCH", kPodA,
         R"({"metadata":{"resourceVersion":"1","labels":{"a":"b"}}})", 409, "Conflict",
         "the object has been modified", kMerge},
        {"other_uid", "PATCH", kPodA, R"({"metadata":{"uid":"x"}})", 409, "Conflict",
         "UID in precondition: x", kMerge},
        {"patch_without_type", "PATCH", kPodA, "{}", 415, "UnsupportedMediaType",
         "Unsupported Media Type: text/plain", "text/plain"},
        {"apply_of_yaml", "PATCH", kPodA, "metadata: {}", 415, "UnsupportedMediaType",
         "with a JSON body only", "application/apply-patch+yaml"},
        {"broken_patch", "PATCH", kPodA, "{", 400, "BadRequest", "error decoding patch", kMerge},
        {"json_patch_that_does_not_apply", "PATCH", kPodA,
         R"([{"op":"test","path":"/metadata/name","value":"b"}])", 422, "Invalid",
         "test of /metadata/name failed", kJsonPatch},
        {"moving_a_pod", "PATCH", kPodA, R"({"spec":{"nodeName":"n1"}})", 422, "Invalid",
         R"(Pod "a" is invalid: spec: Forbidden: pod updates may not change fields)", kMerge},
        {"bad_limit", "GET", "/api/v1/pods?limit=x", "", 400, "BadRequest",
         R"(limit: invalid value "x")"},
        {"bad_continue", "GET", "/api/v1/pods?continue=x", "", 400, "BadRequest",
         "invalid continue token"},
        {"bad_field", "GET", "/api/v1/pods?fieldSelector=foo%3Dbar", "", 400, "BadRequest",
         "field label not supported: foo"},
        {"version_of_the_future", "GET", "/api/v1/pods?resourceVersion=99999", "", 504, "Timeout",
         "Too large resource version: 99999"},
        {"delete_of_another_uid", "DELETE", kPodA, R"({"preconditions":{"uid":"x"}})", 409,
         "Conflict", "the UID in the precondition (x) does not match"},
        {"bad_grace", "DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=-1", "", 400,
         "BadRequest", "gracePeriodSeconds: must be a whole number, not negative"},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(ApiEngineTest, PatchesChangeWhatTheyName) {
  const std::string version = make_pod("a").version();
  const Answer merged = call("PATCH", pod("a"),
                             R"({"metadata":{"resourceVersion":")" + version +
                                 R"(","annotations":{"x/y":"1"},"labels":{"l":"m"}}})",
                             kMerge);
  ASSERT_EQ(merged.status, 200);
  EXPECT_NE(merged.version(), version);
  const Answer strategic =
      call("PATCH", pod("a"), R"({"metadata":{"annotations":{"z":"2"}}})", kStrategic);
  EXPECT_EQ(strategic.body["metadata"]["annotations"].dump(), R"({"x/y":"1","z":"2"})");
  const Answer json = call("PATCH", pod("a"),
                           R"([{"op":"remove","path":"/metadata/annotations/x~1y"}])", kJsonPatch);
  EXPECT_EQ(json.body["metadata"]["annotations"].dump(), R"({"z":"2"})");
  EXPECT_EQ(json.body["metadata"]["labels"].dump(), R"({"l":"m"})");
  EXPECT_EQ(json.body["spec"], merged.body["spec"]);
}

TEST_F(ApiEngineTest, AWriteThatChangesNothingKeepsTheVersion) {
  const std::string version = make_pod("a").version();
  EXPECT_EQ(call("PATCH", pod("a"), "{}", kMerge).version(), version);
  Value same = call("GET", pod("a")).body;
  EXPECT_EQ(call("PUT", pod("a"), same.dump()).version(), version);
}

TEST_F(ApiEngineTest, IdentityCannotBeWritten) {
  const Answer made = make_pod("a");
  const Answer patched =
      call("PATCH", pod("a"), R"({"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z",
           "uid":null,"deletionTimestamp":"2001-01-01T00:00:00Z"}})",
           kMerge);
  EXPECT_EQ(patched.body["metadata"], made.body["metadata"]);
}

TEST_F(ApiEngineTest, StatusIsWrittenThroughItsSubresourceOnly) {
  make_pod("a");
  const std::string body = R"({"metadata":{"labels":{"l":"1"}},"status":{"phase":"Running"}})";
  EXPECT_EQ(call("PATCH", pod("a"), body, kMerge).body["status"]["phase"].text(), "Pending");
  const Answer answer = call("PATCH", pod("a") + "/status",
                             R"({"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})", kMerge);
  EXPECT_EQ(answer.body["status"]["phase"].text(), "Running");
  EXPECT_EQ(answer.body["spec"]["nodeName"].text(), "");
  EXPECT_EQ(answer.body["metadata"]["labels"].dump(), R"({"l":"1"})");
}

TEST_F(ApiEngineTest, NodeCapacityIsKeptOnCreateAndWrittenByStatus) {
  call("POST", "/api/v1/nodes",
       R"({"metadata":{"name":"n1"},"status":{"capacity":{"nvidia.com/gpu":"8"}}})");
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1").body["status"].dump(),
            R"({"capacity":{"nvidia.com/gpu":"8"}})");
  call("PATCH", "/api/v1/nodes/n1/status", R"({"status":{"capacity":{"nvidia.com/gpu":"0"}}})",
       kStrategic);
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1").body["status"].dump(),
            R"({"capacity":{"nvidia.com/gpu":"0"}})");
}

TEST_F(ApiEngineTest, ABindingCarriesAnnotationsAndLabelsInTheSameWrite) {
  const std::string uid = make_pod("a").body["metadata"]["uid"].text();
  call("PATCH", pod("a"), R"({"metadata":{"annotations":{"mine":"1","both":"old"}}})", kMerge);
  const std::string version = call("GET", pod("a")).version();
  const Answer bound = bind("a", "n1",
                            R"({"name":"a","uid":")" + uid +
                                R"(","annotations":{"both":"new","theirs":"2"},)"
                                R"("labels":{"l":"m"}})");
  ASSERT_EQ(bound.status, 201);
  EXPECT_EQ(bound.body["status"].text(), "Success");
  const Answer after = call("GET", pod("a"));
  EXPECT_EQ(std::stoll(after.version()), std::stoll(version) + 1);
  EXPECT_EQ(after.body["spec"]["nodeName"].text(), "n1");
  EXPECT_EQ(after.body["metadata"]["annotations"].dump(),
            R"({"mine":"1","both":"new","theirs":"2"})");
  EXPECT_EQ(after.body["metadata"]["labels"].dump(), R"({"l":"m"})");
  const Value& condition = after.body["status"]["conditions"].items().at(0);
  EXPECT_EQ(condition["type"].text(), "PodScheduled");
  EXPECT_EQ(condition["status"].text(), "True");
}

TEST_F(ApiEngineTest, ASecondBindingIsRefusedAndChangesNothing) {
  make_pod("a");
  bind("a", "n1");
  const Value before = call("GET", pod("a")).body;
  const Answer second = bind("a", "n2", R"({"annotations":{"x":"y"}})");
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.message(),
            R"(Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to )"
            R"(node "n1")");
  EXPECT_EQ(call("GET", pod("a")).body, before);
}

TEST_F(ApiEngineTest, BindingsThatAreRefused) {
  make_pod("a");
  EXPECT_EQ(bind("b", "n1").status, 404);
  EXPECT_EQ(bind("b", "n1").message(), R"(pods "b" not found)");
  const Answer other_uid = bind("a", "n1", R"({"uid":"x"})");
  EXPECT_EQ(other_uid.status, 409);
  EXPECT_THAT(other_uid.message(), HasSubstr("UID in precondition: x"));
  EXPECT_EQ(bind("a", "").status, 500);
  EXPECT_EQ(bind("a", "").message(), "target.name: Required value");
  EXPECT_EQ(bind("a", "n1", R"({"name":"c"})").status, 400);
  EXPECT_EQ(call("GET", pod("a")).body["spec"]["nodeName"].text(), "");
}

TEST_F(ApiEngineTest, APodWithoutANodeGoesAtOnce) {
  make_pod("a");
  const Answer gone = call("DELETE", pod("a"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.body["kind"].text(), "Pod");
  EXPECT_EQ(call("GET", pod("a")).status, 404);
}

TEST_F(ApiEngineTest, APodOnANodeWaitsForItsKubelet) {
  make_pod("a");
  bind("a", "n1");
  const Answer marked = call("DELETE", pod("a"));
  EXPECT_EQ(marked.status, 200);
  EXPECT_EQ(marked.body["metadata"]["deletionTimestamp"].text(), "2027-01-15T08:00:30Z");
  EXPECT_EQ(marked.body["metadata"]["deletionGracePeriodSeconds"].integer(), 30);
  EXPECT_EQ(call("GET", pod("a")).status, 200);
  EXPECT_EQ(call("DELETE", pod("a") + "?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(call("GET", pod("a")).status, 404);
}

TEST_F(ApiEngineTest, AMarkedPodGoesWhenItsStatusSaysFinished) {
  make_pod("a");
  bind("a", "n1");
  call("DELETE", pod("a"), R"({"gracePeriodSeconds":5})");
  call("PATCH", pod("a") + "/status", R"({"status":{"phase":"Running"}})", kMerge);
  EXPECT_EQ(call("GET", pod("a")).status, 200);
  call("PATCH", pod("a") + "/status", R"({"status":{"phase":"Succeeded"}})", kMerge);
  EXPECT_EQ(call("GET", pod("a")).status, 404);
}

TEST_F(ApiEngineTest, AFinishedPodGoesAtOnce) {
  make_pod("a");
  bind("a", "n1");
  call("PATCH", pod("a") + "/status", R"({"status":{"phase":"Failed"}})", kMerge);
  call("DELETE", pod("a"));
  EXPECT_EQ(call("GET", pod("a")).status, 404);
}

TEST_F(ApiEngineTest, FinalizersHoldAnObjectUntilTheyAreGone) {
  call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1","finalizers":["x/y"]}})");
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/n1").body["kind"].text(), "Node");
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1").status, 200);
  call("PATCH", "/api/v1/nodes/n1", R"({"metadata":{"finalizers":null}})", kMerge);
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1").status, 404);
}

TEST_F(ApiEngineTest, ANamespaceTakesItsContentsWithIt) {
  call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  call("POST", "/api/v1/namespaces/x/pods", R"({"metadata":{"name":"a"}})");
  make_pod("a");
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/x").status, 200);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/x/pods/a").status, 404);
  EXPECT_EQ(call("GET", pod("a")).status, 200);
}

TEST_F(ApiEngineTest, DryRunChangesNothing) {
  EXPECT_EQ(call("POST", pod() + "?dryRun=All", R"({"metadata":{"name":"b"}})").status, 201);
  EXPECT_EQ(call("GET", pod("b")).status, 404);
  make_pod("a");
  const Answer patched =
      call("PATCH", pod("a") + "?dryRun=All", R"({"metadata":{"labels":{"l":"m"}}})", kMerge);
  EXPECT_EQ(patched.body["metadata"]["labels"]["l"].text(), "m");
  EXPECT_EQ(call("DELETE", pod("a") + "?dryRun=All").status, 200);
  EXPECT_FALSE(call("GET", pod("a")).body["metadata"].has("labels"));
}

TEST_F(ApiEngineTest, ServerSideApplyWithJsonCreatesAndMerges) {
  const std::string_view type = "application/apply-patch+yaml";
  EXPECT_EQ(call("PATCH", pod("a"), R"({"metadata":{"labels":{"a":"1"}}})", type).status, 201);
  const Answer again = call("PATCH", pod("a"), R"({"metadata":{"labels":{"b":"2"}}})", type);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body["metadata"]["labels"].dump(), R"({"a":"1","b":"2"})");
}

TEST_F(ApiEngineTest, ListsAreOrderedAndSelected) {
  for (const char* name : {"c", "a", "b"}) make_pod(name);
  call("PATCH", pod("b"), R"({"metadata":{"labels":{"app":"web"}}})", kMerge);
  bind("c", "n1");
  EXPECT_THAT(names("/api/v1/pods"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(pod() + "?labelSelector=app%3Dweb"), ElementsAre("b"));
  EXPECT_THAT(names(pod() + "?fieldSelector=spec.nodeName%3Dn1"), ElementsAre("c"));
  EXPECT_THAT(names("/api/v1/namespaces/kube-system/pods"), ElementsAre());
  const Value list = call("GET", pod()).body;
  EXPECT_EQ(list["kind"].text(), "PodList");
  EXPECT_FALSE(list["items"].items()[0].has("kind"));
}

TEST_F(ApiEngineTest, PagesShowTheListAsItWasAtTheFirst) {
  for (const char* name : {"a", "b", "c", "d", "e"}) make_pod(name);
  const Answer first = call("GET", pod() + "?limit=2");
  EXPECT_EQ(first.body["metadata"]["remainingItemCount"].integer(), 3);
  call("DELETE", pod("d"));
  make_pod("bb");
  const std::string next = "?limit=2&continue=" + first.body["metadata"]["continue"].text();
  const Answer second = call("GET", pod() + next);
  EXPECT_EQ(second.body["items"].items()[0]["metadata"]["name"].text(), "c");
  EXPECT_EQ(second.body["items"].items()[1]["metadata"]["name"].text(), "d");
  EXPECT_EQ(second.version(), first.version());
  const Answer last =
      call("GET", pod() + "?limit=2&continue=" + second.body["metadata"]["continue"].text());
  EXPECT_EQ(last.body["items"].items().size(), 1U);
  EXPECT_FALSE(last.body["metadata"].has("continue"));
}

TEST_F(ApiEngineTest, AForgottenPageIsExpired) {
  for (const char* name : {"a", "b"}) make_pod(name);
  const Answer first = call("GET", pod() + "?limit=1");
  server_->forget_history();
  const Answer second =
      call("GET", pod() + "?limit=1&continue=" + first.body["metadata"]["continue"].text());
  EXPECT_EQ(second.status, 410);
  EXPECT_EQ(second.body["reason"].text(), "Expired");
}

TEST_F(ApiEngineTest, DeletingACollectionObeysSelectors) {
  for (const char* name : {"a", "b"}) make_pod(name);
  call("PATCH", pod("b"), R"({"metadata":{"labels":{"app":"web"}}})", kMerge);
  EXPECT_EQ(call("DELETE", pod() + "?labelSelector=app").status, 200);
  EXPECT_THAT(names(pod()), ElementsAre("a"));
}

TEST_F(ApiEngineTest, BothFormsOfEventsAreOneStore) {
  call("POST", "/api/v1/namespaces/default/events",
       R"({"metadata":{"name":"e1"},"involvedObject":{"name":"a"},"message":"m"})");
  const Answer made = call("POST", "/apis/events.k8s.io/v1/namespaces/default/events",
                           R"({"metadata":{"name":"e2"},"regarding":{"name":"b"},"note":"n"})");
  EXPECT_EQ(made.body["note"].text(), "n");
  EXPECT_EQ(made.body["apiVersion"].text(), "events.k8s.io/v1");
  const Value core = call("GET", "/api/v1/namespaces/default/events/e2").body;
  EXPECT_EQ(core["message"].text(), "n");
  EXPECT_EQ(core["involvedObject"]["name"].text(), "b");
  const Value v1 = call("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e1").body;
  EXPECT_EQ(v1["note"].text(), "m");
  EXPECT_EQ(v1["regarding"]["name"].text(), "a");
  EXPECT_THAT(names("/apis/events.k8s.io/v1/events"), ElementsAre("e1", "e2"));
}

TEST_F(ApiEngineTest, EveryKindOfTheCatalogueIsStored) {
  const std::string path = "/apis/scheduling.k8s.io/v1/priorityclasses";
  EXPECT_EQ(call("POST", path, R"({"metadata":{"name":"high"},"value":7})").status, 201);
  EXPECT_EQ(call("GET", path + "/high").body["value"].integer(), 7);
}

TEST_F(ApiEngineTest, DiscoveryNamesWhatIsServed) {
  EXPECT_EQ(call("GET", "/api").body["versions"].dump(), R"(["v1"])");
  EXPECT_EQ(call("GET", "/apis").body["kind"].text(), "APIGroupList");
  EXPECT_EQ(call("GET", "/version").body["major"].text(), "1");
  const Value leases = call("GET", "/apis/coordination.k8s.io/v1").body;
  EXPECT_EQ(leases["groupVersion"].text(), "coordination.k8s.io/v1");
  EXPECT_EQ(leases["resources"].items()[0]["name"].text(), "leases");
  EXPECT_EQ(call("GET", "/apis/nope.k8s.io/v1").status, 404);
  EXPECT_EQ(server_->request("GET", "/healthz").body, "ok");
}

TEST_F(ApiEngineTest, OpenApiTellsThatTheServerValidates) {
  const Value root = call("GET", "/openapi/v3").body;
  EXPECT_EQ(root["paths"]["api/v1"]["serverRelativeURL"].text(), "/openapi/v3/api/v1");
  const Value core = call("GET", "/openapi/v3/api/v1").body;
  const Value& patch = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
  EXPECT_EQ(patch["parameters"].items().at(0)["name"].text(), "fieldValidation");
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"]["kind"].text(), "Pod");
  EXPECT_EQ(call("GET", "/openapi/v3/apis/nope/v1").status, 404);
  EXPECT_EQ(call("GET", "/openapi/v2").status, 404);
}

}  // namespace
}  // namespace tessera::sim
