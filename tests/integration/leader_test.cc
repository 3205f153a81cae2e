#include <fmt/format.h>

#include <chrono>

#include "harness.h"
#include "json/writer.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr std::string_view kMerge = "application/merge-patch+json";

/// The process has host h1; the Lease is written by the test, as kube-schedulers do.
class LeaderTest : public ClusterTest {
 protected:
  LeaderTest() {
    options_.leader_elect = true;
    options_.leader_elect_name = "hami-scheduler";
    options_.leader_elect_namespace = "kube-system";
    options_.leader_elect_host = "h1";
  }

  /// Takes or renews the Lease.
  void renew(const std::string& holder, int duration = 15) {
    const std::string spec = fmt::format(
        R"({{"holderIdentity":"{}","leaseDurationSeconds":{},"renewTime":"2026-08-21T08:00:00.{:06}Z"}})",
        holder, duration, ++renewals_);
    const auto patched = api_->request("PATCH", std::string(kLeases) + "/hami-scheduler",
                                       R"({"spec":)" + spec + "}", kMerge);
    if (patched.status == 200) return;
    const auto made = api_->request(
        "POST", kLeases,
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"hami-scheduler","namespace":"kube-system"},"spec":)" +
            spec + "}");
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void delete_lease() {
    const auto answer = api_->request("DELETE", std::string(kLeases) + "/hami-scheduler");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  bool leads() { return metric("tessera_leader") == 1; }
  void lead() {
    for (int i = 0; i < 50; ++i) {  // the first sight of a Lease is no renewal
      renew("h1_a");
      if (eventually([&] { return leads(); }, milliseconds(200))) return;
    }
    FAIL() << "renewals are not seen";
  }
  void start_leading() {
    renew("h2_b");
    start_server();
    lead();
  }
  void depose() {
    renew("h2_b");
    ASSERT_TRUE(eventually([&] { return !leads(); }));
  }
  std::uint64_t writes() const {
    return calls("PATCH nodes") + calls("POST pods/binding") + calls("PATCH pods") +
           calls("POST events");
  }
  static constexpr const char* kHeldByOther =
      "not the leader: Lease kube-system/hami-scheduler is held by h2_b";
  int renewals_ = 0;
};

TEST_F(LeaderTest, Case154AFollowerIsReadyAndRefusesWithWordsThatNameTheHolder) {
  add_node("n1");
  set_lock("n1", "malformed, so a leader would put it aside");
  renew("h2_b");
  start_server();
  EXPECT_EQ(get("/readyz").status, 200);
  const std::string uid = add_pod("p");
  const auto begun = steady_clock::now();
  EXPECT_EQ(filter("p", {"n1"}).error, kHeldByOther);
  EXPECT_GE(steady_clock::now() - begun, milliseconds(1000)) << "the Lease may be about to change";
  EXPECT_LT(steady_clock::now() - begun, milliseconds(3000));
  EXPECT_EQ(bind("p", uid, "n1"), kHeldByOther);
  EXPECT_EQ(metric("tessera_leader"), 0);
  EXPECT_NE(http_->call({.method = "POST", .path = "/webhook", .body = "{}"}).status, 0);
  EXPECT_EQ(writes(), 0U);
  EXPECT_TRUE(lock_of("n1"));
}

TEST_F(LeaderTest, ACallThatComesJustBeforeTheLeaseIsAnswered) {
  add_node("n1");
  renew("h2_b");
  start_server();
  add_pod("p");
  auto answer = std::async(std::launch::async, [this] { return filter("p", {"n1"}); });
  std::this_thread::sleep_for(milliseconds(300));
  renew("h1_a");
  EXPECT_EQ(answer.get().names, std::vector<std::string>{"n1"});
}

TEST_F(LeaderTest, E20AHostWhoseNameBeginsLikeOursIsNotUs) {
  renew("h10_a");
  start_server();
  renew("h10_a");
  renew("h10_a");
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).error,
            "not the leader: Lease kube-system/hami-scheduler is held by h10_a");
}

TEST_F(LeaderTest, S38ALeaseThatIsNotRenewedAnyMoreEndsTheTerm) {
  add_node("n1");
  renew("h2_b", 1);
  start_server();
  renew("h1_a", 1);
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_TRUE(eventually([&] { return !leads(); }, seconds(3)));
  EXPECT_EQ(filter("p", {"n1"}).error,
            "not the leader: Lease kube-system/hami-scheduler is held by h1_a, this host, but is "
            "not seen to be renewed");
}

TEST_F(LeaderTest, Case156ALeaseThatIsDeletedOrCannotBeReadIsNobodys) {
  add_node("n1");
  api_->inject({.match = "leases", .times = 2, .status = 500});
  start_leading();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  delete_lease();
  EXPECT_TRUE(eventually([&] { return !leads(); }));
  EXPECT_EQ(filter("p", {"n1"}).error,
            "not the leader: there is no Lease kube-system/hami-scheduler");
  renew("h1_a");
  renew("h1_a");
  EXPECT_TRUE(eventually([&] { return leads(); }));
  api_->request("PATCH", std::string(kLeases) + "/hami-scheduler",
                R"({"spec":{"holderIdentity":null}})", kMerge);
  EXPECT_TRUE(eventually([&] { return !leads(); }));
  EXPECT_EQ(filter("p", {"n1"}).error,
            "not the leader: nobody holds Lease kube-system/hami-scheduler");
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(LeaderTest, S38ANewTermDecidesOnlyAfterFreshLists) {
  options_.ready_wait = milliseconds(500);
  add_node("n1");
  start_leading();
  depose();
  api_->inject({.match = "GET /api/v1/pods?limit", .times = -1, .status = 500});
  lead();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).error, "not ready: pods are not listed yet");
  EXPECT_EQ(get("/readyz").status, 200) << "it was filled before, webhooks are served";
  api_->clear_faults();
  EXPECT_TRUE(eventually([&] { return filter("p", {"n1"}).names.size() == 1; }, seconds(40)));
}

TEST_F(LeaderTest, WhatTheOtherLeaderGaveAwayIsSeenBeforeAnythingIsDecided) {
  add_node("n1");
  start_leading();
  add_pod("mine", {.memory = 20'000});
  EXPECT_EQ(filter("mine", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(metric("tessera_reservations"), 1);
  depose();
  EXPECT_EQ(metric("tessera_reservations"), 0) << "reservations of an earlier term are void";
  api_->inject({.match = "watch=true", .times = -1, .status = 500});  // no news by watch
  api_->drop_watches();
  add_running("theirs", "n1", 20'000);
  api_->clear_faults();
  lead();
  EXPECT_EQ(filter("mine", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory");
}

TEST_F(LeaderTest, ABindThatWaitsIsRefusedWhenLeadershipIsLost) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_leading();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  auto waiting = bind_later("p", uid, "n1");
  ASSERT_TRUE(eventually([&] { return metric("tessera_bind_queue_length") == 1; }));
  const std::uint64_t before = calls("PATCH nodes");
  renew("h2_b");
  EXPECT_EQ(waiting.get(), kHeldByOther);
  remove_lock("n1");
  settle();
  EXPECT_EQ(calls("PATCH nodes"), before);
  EXPECT_EQ(bound_node("p"), "");
}

TEST_F(LeaderTest, Case158ADeposedLeaderWritesNoBindingAfterItsLock) {
  add_node("n1");
  start_leading();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  api_->inject({.match = "PATCH /api/v1/nodes/n1", .times = 1, .delay = milliseconds(800)});
  auto bound = bind_later("p", uid, "n1");
  ASSERT_TRUE(eventually([&] { return metric("tessera_bind_active") == 1; }));
  depose();
  EXPECT_EQ(bound.get(), kHeldByOther);
  EXPECT_TRUE(lock_of("n1")) << "it is the next leader's to put aside: this one writes nothing";
  EXPECT_EQ(calls("POST pods/binding"), 0U);
  lead();
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }, seconds(8)));
  EXPECT_EQ(bind("p", uid, "n1"), "") << "the pod's slices are decided anew";
  EXPECT_EQ(calls("POST pods/binding"), 1U);
  stop_server();  // what was said is written by then
  EXPECT_TRUE(events("BindingFailed").empty());
}

TEST_F(LeaderTest, ABindingOnItsWayIsNeitherLostNorDoneTwice) {
  add_node("n1");
  start_leading();
  const std::string uid = add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  api_->inject({.match = "/binding", .times = 1, .delay = milliseconds(800)});
  auto bound = bind_later("p", uid, "n1");
  ASSERT_TRUE(eventually([&] { return lock_of("n1").has_value(); }));
  std::this_thread::sleep_for(milliseconds(100));
  depose();
  lead();
  add_pod("q", {.memory = 20'000});
  EXPECT_EQ(filter("q", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory")
      << "the slices of a Binding under way are not given away";
  EXPECT_EQ(bound.get(), "");
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(calls("POST pods/binding"), 1U);
}

TEST_F(LeaderTest, AFollowerPutsNoLockAsideALeaderDoes) {
  add_node("n1");
  set_lock("n1", lock_text(seconds(0), "default,gone"));
  renew("h2_b");
  start_server();
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_TRUE(lock_of("n1"));
  lead();
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }));
}

TEST_F(LeaderTest, RoleLabelsFollowTheLeadership) {
  options_.pod_name = "scheduler-1";
  options_.pod_namespace = "kube-system";
  const auto add = [&](const std::string& name, const std::string& component) {
    const auto made = api_->request(
        "POST", "/api/v1/namespaces/kube-system/pods",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"kube-system","labels":{{"app.kubernetes.io/component":"{}"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
            name, component));
    ASSERT_EQ(made.status, 201) << made.body;
  };
  add("scheduler-1", "hami-scheduler");
  add("scheduler-2", "hami-scheduler");
  add("agent-1", "hami-device-plugin");
  const auto role = [&](const std::string& name) {
    json::Parser parser;
    const auto pod =
        parser.parse(api_->request("GET", "/api/v1/namespaces/kube-system/pods/" + name).body);
    return std::string((*pod)["metadata"]["labels"]["hami.io/scheduler-role"].string_or(""));
  };
  renew("h2_b");
  start_server();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(role("scheduler-1"), "") << "a follower writes nothing";
  lead();
  EXPECT_TRUE(eventually([&] { return role("scheduler-1") == "leader"; }));
  EXPECT_TRUE(eventually([&] { return role("scheduler-2") == "follower"; }));
  EXPECT_EQ(role("agent-1"), "");
}

// ---- what else a leader writes by itself: handshakes

class HandshakeTest : public ClusterTest {
 protected:
  HandshakeTest() { options_.node_pass_every = milliseconds(50); }
  std::string handshake(const std::string& node) {
    json::Parser parser;
    const auto object = parser.parse(api_->request("GET", "/api/v1/nodes/" + node).body);
    return std::string(
        (*object)["metadata"]["annotations"]["hami.io/node-handshake"].string_or(""));
  }
  void set_handshake(const std::string& node, const std::string& text) {
    patch_node(
        node,
        fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/node-handshake":"{}"}}}}}})", text));
  }
};

TEST_F(HandshakeTest, Case142AStaleDeletedTextIsRepairedAndTheNodeIsUsable) {
  add_node("n1");
  set_handshake("n1", "Deleted_2026-08-01 00:00:00");
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_TRUE(eventually([&] { return handshake("n1").starts_with("Requesting_"); }));
  const std::string now = format_rfc3339(clock_.wall());
  EXPECT_EQ(handshake("n1").substr(11, 10), now.substr(0, 10)) << "the day in UTC";
  EXPECT_EQ(handshake("n1").substr(22, 2), now.substr(11, 2)) << "the hour in UTC";
}

TEST_F(HandshakeTest, Case143WhateverTheTextTheNodeIsUsable) {
  int i = 0;
  for (const char* text : {"Requesting", "Requesting_garbage", "Requesting_2026-08-21 16:00:00",
                           "Reported 2026-08-21 16:00:00 +0800 CST", ""}) {
    const std::string node = fmt::format("n{}", ++i);
    add_node(node);
    set_handshake(node, text);
  }
  start_server();
  for (int n = 1; n <= i; ++n) {
    const std::string pod = fmt::format("p{}", n), node = fmt::format("n{}", n);
    add_pod(pod);
    EXPECT_EQ(filter(pod, {node}).names, std::vector<std::string>{node});
  }
  EXPECT_TRUE(eventually([&] { return calls("PATCH nodes") == 4; }));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(handshake("n3"), "Requesting_2026-08-21 16:00:00") << "it can be read: it stays";
  EXPECT_EQ(calls("PATCH nodes"), 4U) << "nothing is written again and again";
}

TEST_F(HandshakeTest, S19OnlyRegisteredNodesAreStamped) {
  add_node("n1");
  const auto made = api_->request(
      "POST", "/api/v1/nodes",
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"cpu","annotations":{"a":"b"}}})");
  ASSERT_EQ(made.status, 201);
  start_server();
  EXPECT_TRUE(eventually([&] { return !handshake("n1").empty(); }));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(handshake("cpu"), "");
  EXPECT_EQ(calls("PATCH nodes"), 1U);
}

TEST_F(HandshakeTest, S18ADeletedNodeStaysGone) {
  add_node("n1");
  start_server();
  EXPECT_TRUE(eventually([&] { return !handshake("n1").empty(); }));
  api_->request("DELETE", "/api/v1/nodes/n1");
  settle();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).unresolvable.at("n1"), "node unregistered");
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(filter("p", {"n1"}).unresolvable.at("n1"), "node unregistered");
}

TEST_F(HandshakeTest, Case153CardsThatAnOperatorLeavesOutAreNotUsed) {
  add_node("n1", 8);
  json::Writer cards;  // 6 of 8, with gaps in their indices; allocatable still says 80 slots
  cards.begin_array();
  for (const int index : {0, 1, 3, 4, 6, 7}) {
    cards.begin_object().key("id").string(fmt::format("card{}", index)).key("index").integer(index);
    cards.key("count").integer(10).key("devmem").integer(24'576).key("devcore").integer(100);
    cards.key("type").string("NVIDIA-Tesla T4").key("mode").string("hami-core");
    cards.key("health").boolean(true).end_object();
  }
  cards.end_array();
  json::Writer patch;
  patch.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  patch.key("hami.io/node-nvidia-register").string(cards.text());
  patch.end_object().end_object().end_object();
  patch_node("n1", patch.text());
  start_server();
  add_pod("seven", {.count = 7});
  EXPECT_EQ(filter("seven", {"n1"}).unresolvable.at("n1"), "NodeInsufficientDevice");
  const std::string six = add_pod("six", {.count = 6});
  EXPECT_EQ(filter("six", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("six", six, "n1"), "");
  const std::string text = annotation("six", "hami.io/vgpu-devices-allocated");
  for (const int index : {0, 1, 3, 4, 6, 7})
    EXPECT_NE(text.find(fmt::format("card{},", index)), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera::test
