#include "sim/api_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::sim::api {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

TEST(ShortDurationTest, ReadsAsKubectlPrintsIt) {
  struct Row {
    seconds age;
    std::string_view want;
  };
  for (const Row& row : std::vector<Row>{
           {seconds(-5), "<invalid>"},
           {seconds(-1), "0s"},
           {seconds(0), "0s"},
           {seconds(119), "119s"},
           {seconds(120), "2m"},
           {seconds(125), "2m5s"},
           {seconds(599), "9m59s"},
           {minutes(10), "10m"},
           {minutes(179), "179m"},
           {hours(3), "3h"},
           {hours(3) + minutes(5), "3h5m"},
           {hours(8) + minutes(5), "8h"},
           {hours(47), "47h"},
           {hours(48), "2d"},
           {days(2) + hours(3), "2d3h"},
           {days(8) + hours(3), "8d"},
           {days(729), "729d"},
           {days(730), "2y"},
           {days(760), "2y30d"},
           {days(3000), "8y"},
       })
    EXPECT_EQ(short_duration(row.age), row.want) << row.age.count();
}

class TableTest : public testing::Test {
 protected:
  static constexpr const char* kBorn = "2027-01-15T08:00:00Z";
  const WallTime now_ = WallTime(seconds(1'800'000'000) + minutes(5));

  static ObjectPtr object(std::string_view name, std::string_view text) {
    auto stored = std::make_shared<StoredObject>();
    stored->name = name;
    stored->value = Value::parse(text).value();
    stored->value.make("metadata").make("name") = name;
    stored->value.make("metadata").make("creationTimestamp") = kBorn;
    return stored;
  }
  std::vector<std::string> cells(const Resource& resource, std::string_view text) const {
    const Value table = make_table(resource, {object("x", text)}, 7, "", now_);
    std::vector<std::string> shown;
    for (const Value& cell : table["rows"].items().at(0)["cells"].items())
      shown.push_back(cell.is_string() ? cell.text() : cell.dump());
    EXPECT_EQ(shown.size(), table["columnDefinitions"].items().size());
    return shown;
  }
  std::vector<std::string> cells(std::string_view core_kind, std::string_view text) const {
    return cells(core_resource(core_kind), text);
  }
};

TEST_F(TableTest, HasColumnsRowsAndVersion) {
  const Value table =
      make_table(core_resource("nodes"), {object("x", R"({"spec":{}})")}, 7, "", now_);
  EXPECT_EQ(table["kind"].text(), "Table");
  EXPECT_EQ(table["apiVersion"].text(), "meta.k8s.io/v1");
  EXPECT_EQ(table["metadata"]["resourceVersion"].text(), "7");
  const Value& name = table["columnDefinitions"].items()[0];
  EXPECT_EQ(name["name"].text(), "Name");
  EXPECT_EQ(name["format"].text(), "name");
  EXPECT_EQ(table["columnDefinitions"].items()[9]["priority"].integer(), 1);
  const Value& row = table["rows"].items()[0]["object"];
  EXPECT_EQ(row["kind"].text(), "PartialObjectMetadata");
  EXPECT_EQ(row["metadata"]["name"].text(), "x");
  EXPECT_FALSE(row.has("spec"));
}

TEST_F(TableTest, IncludeObjectIsObeyed) {
  const ObjectPtr node = object("x", R"({"spec":{"a":"b"}})");
  const Value whole = make_table(core_resource("nodes"), {node}, 7, "Object", now_);
  EXPECT_EQ(whole["rows"].items()[0]["object"]["spec"].dump(), R"({"a":"b"})");
  EXPECT_EQ(whole["rows"].items()[0]["object"]["kind"].text(), "Node");
  const Value none = make_table(core_resource("nodes"), {node}, 7, "None", now_);
  EXPECT_FALSE(none["rows"].items()[0].has("object"));
}

TEST_F(TableTest, Pods) {
  EXPECT_THAT(
      cells("pods", R"({"spec":{"containers":[{},{}]},"status":{"phase":"Pending"}})"),
      ElementsAre("x", "0/2", "Pending", "0", "5m", "<none>", "<none>", "<none>", "<none>"));
  EXPECT_THAT(cells("pods", R"({"spec":{"nodeName":"n1","containers":[{}]},"status":{
                   "phase":"Running","podIP":"10.0.0.1",
                   "containerStatuses":[{"ready":true,"restartCount":3}]}})"),
              ElementsAre("x", "1/1", "Running", "3", "5m", "10.0.0.1", "n1", "<none>", "<none>"));
}

TEST_F(TableTest, PodStatusInOneWord) {
  struct Row {
    std::string_view pod, want;
  };
  for (const Row& row : std::vector<Row>{
           {R"({"status":{"phase":"Failed","reason":"Evicted"}})", "Evicted"},
           {R"({"metadata":{"deletionTimestamp":"x"},"status":{"phase":"Running"}})",
            "Terminating"},
           {R"({"spec":{"schedulingGates":[{"name":"g"}]},"status":{"phase":"Pending"}})",
            "SchedulingGated"},
           {R"({"status":{"phase":"Pending","containerStatuses":[
                {"state":{"waiting":{"reason":"ContainerCreating"}}}]}})",
            "ContainerCreating"},
           {R"({"status":{"phase":"Succeeded","containerStatuses":[
                {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})",
            "Completed"},
           {R"({"status":{"phase":"Failed","containerStatuses":[
                {"state":{"terminated":{"exitCode":3}}}]}})",
            "ExitCode:3"},
       })
    EXPECT_EQ(cells("pods", row.pod).at(2), row.want) << row.pod;
}

TEST_F(TableTest, Nodes) {
  EXPECT_THAT(cells("nodes", R"({"metadata":{"labels":{"node-role.kubernetes.io/gpu":""}},
                   "spec":{"unschedulable":true},
                   "status":{"conditions":[{"type":"Ready","status":"True"}],
                   "addresses":[{"type":"InternalIP","address":"10.0.0.2"}],
                   "nodeInfo":{"kubeletVersion":"v1.36.0","osImage":"Debian"}}})"),
              ElementsAre("x", "Ready,SchedulingDisabled", "gpu", "5m", "v1.36.0", "10.0.0.2",
                          "<none>", "Debian", "<unknown>", "<unknown>"));
  EXPECT_EQ(cells("nodes", R"({"status":{}})").at(1), "Unknown");
  EXPECT_EQ(
      cells("nodes", R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})").at(1),
      "NotReady");
}

TEST_F(TableTest, Events) {
  EXPECT_THAT(cells("events", R"({"involvedObject":{"kind":"Pod","name":"a"},"type":"Warning",
                   "reason":"FailedScheduling","message":"no room","count":3,
                   "firstTimestamp":"2027-01-15T08:00:00Z","lastTimestamp":"2027-01-15T08:04:00Z",
                   "source":{"component":"s","host":"h"}})"),
              ElementsAre("60s", "Warning", "FailedScheduling", "pod/a", "", "s, h", "no room",
                          "5m", "3", "x"));
  EXPECT_THAT(cells("events", R"({"involvedObject":{"kind":"Pod","name":"a"},"type":"Normal",
                   "reason":"R","message":"m","eventTime":"2027-01-15T08:04:30.000000Z",
                   "reportingComponent":"c"})"),
              ElementsAre("30s", "Normal", "R", "pod/a", "", "c", "m", "30s", "1", "x"));
}

TEST_F(TableTest, TheOthers) {
  EXPECT_THAT(cells("namespaces", R"({"status":{"phase":"Active"}})"),
              ElementsAre("x", "Active", "5m"));
  EXPECT_THAT(cells("resourcequotas", R"({"status":{"hard":{"limits.cpu":"4","pods":"9"},
                                                  "used":{"pods":"2"}}})"),
              ElementsAre("x", "pods: 2/9", "limits.cpu: 0/4", "5m"));
  EXPECT_THAT(cells("configmaps", R"({"data":{"a":"1","b":"2"}})"), ElementsAre("x", "2", "5m"));
  EXPECT_THAT(cells("secrets", R"({"data":{"a":"1"}})"), ElementsAre("x", "Opaque", "1", "5m"));
  EXPECT_THAT(cells("services", R"({"spec":{"type":"ClusterIP","ports":[{"port":80}]}})"),
              ElementsAre("x", "ClusterIP", "<none>", "<none>", "80/TCP", "5m"));
  EXPECT_THAT(cells("serviceaccounts", "{}"), ElementsAre("x", "5m"));
  EXPECT_THAT(cells(*find_resource("coordination.k8s.io", "v1", "leases"),
                    R"({"spec":{"holderIdentity":"me"}})"),
              ElementsAre("x", "me", "5m"));
}

}  // namespace
}  // namespace tessera::sim::api
