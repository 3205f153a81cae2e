/// Over HTTP, with our own client: watches, faults, counts, the token.
#include "sim/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/api.h"
#include "client/credentials.h"
#include "obs/metrics.h"
#include "sim/api_value.h"

namespace tessera::sim {
namespace {

using api::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kMerge = "application/merge-patch+json";

/// What a watch has said so far, as "TYPE name".
class Watcher {
 public:
  Watcher(client::ApiClient& api, const std::string& path) : api_(api) {
    client::ApiClient::StreamHandlers handlers;
    handlers.on_headers = [this](int status) { note([&] { status_ = status; }); };
    handlers.on_line = [this](std::string_view line) {
      const auto event = Value::parse(line);
      note([&] { take(event.value_or(Value())); });
    };
    handlers.on_end = [this](const client::ApiResponse&) { note([&] { ended_ = true; }); };
    id_ = api_.stream({.path = path}, std::move(handlers));
  }
  ~Watcher() { api_.cancel(id_); }

  template <class Condition>
  bool wait(Condition condition, milliseconds limit = seconds(10)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return condition(*this); });
  }
  bool wait_lines(std::size_t count) {
    return wait([&](const Watcher& w) { return w.lines_.size() >= count; });
  }
  bool wait_end() {
    return wait([](const Watcher& w) { return w.ended_; });
  }
  bool wait_open() {
    return wait([](const Watcher& w) { return w.status_ != 0; });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  Value last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::size_t bookmarks_seen() const { return bookmarks_; }  ///< inside wait()
  bool silent() const { return lines_.empty() && bookmarks_ == 0; }
  std::size_t bookmarks() {
    const std::lock_guard lock(mutex_);
    return bookmarks_;
  }

 private:
  template <class Action>
  void note(Action action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }
  void take(const Value& event) {
    const Value& object = event["object"];
    if (event["type"].text() == "BOOKMARK") {
      ++bookmarks_;
      if (!object["metadata"].has("annotations")) return;
    }
    lines_.push_back(event["type"].text() + " " + object["metadata"]["name"].text());
    last_ = object;
  }

  client::ApiClient& api_;
  std::uint64_t id_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  Value last_;
  std::size_t bookmarks_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

class ApiServerTest : public testing::Test {
 protected:
  explicit ApiServerTest(ApiServer::Options options = {.bookmark_interval = milliseconds(50),
                                                       .history = 20})
      : server_(ApiServer::start(std::move(options), clock_).value()),
        credentials_(client::parse_kubeconfig(server_->kubeconfig(), "").value()),
        api_(credentials_, {.user_agent = "tester/1.0 (test)", .max_retries_429 = 0}, metrics_) {}

  client::ApiResponse call(std::string method, std::string path, std::string body = "",
                           std::string type = "application/json") {
    return api_.call({.method = std::move(method),
                      .path = std::move(path),
                      .body = std::move(body),
                      .content_type = std::move(type)});
  }
  void make_pod(const std::string& name, const std::string& labels = "{}") {
    const auto answer = server_->request(
        "POST", kPods, R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + "}}");
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void label(const std::string& name, const std::string& labels) {
    const auto answer = server_->request("PATCH", std::string(kPods) + "/" + name,
                                         R"({"metadata":{"labels":)" + labels + "}}", kMerge);
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  void remove(const std::string& name) {
    ASSERT_EQ(server_->request("DELETE", std::string(kPods) + "/" + name).status, 200);
  }
  std::string version() {
    const auto list = Value::parse(server_->request("GET", kPods).body);
    return list.value()["metadata"]["resourceVersion"].text();
  }
  std::string watch_since(const std::string& since, const std::string& more = "") {
    return std::string(kPods) + "?watch=true&resourceVersion=" + since + more;
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  std::unique_ptr<ApiServer> server_;
  client::Credentials credentials_;
  client::ApiClient api_;
};

TEST_F(ApiServerTest, WritesAndReadsOverHttp) {
  const auto made = call("POST", kPods, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(call("GET", std::string(kPods) + "/a").status, 200);
  const auto missing = call("GET", std::string(kPods) + "/b");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), R"(pods "b" not found)");
  EXPECT_EQ(call("GET", "/readyz").body, "ok");
  EXPECT_EQ(call("GET", "/nowhere").status, 404);
}

TEST_F(ApiServerTest, AWatchTellsWhatHappensAfterItsVersion) {
  make_pod("old");
  Watcher watcher(api_, watch_since(version()));
  ASSERT_TRUE(watcher.wait_open());
  make_pod("a");
  label("a", R"({"l":"m"})");
  remove("a");
  ASSERT_TRUE(watcher.wait_lines(3));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED a", "MODIFIED a", "DELETED a"));
  EXPECT_EQ(watcher.last()["kind"].text(), "Pod");
  EXPECT_EQ(watcher.last()["metadata"]["resourceVersion"].text(), version());
}

/// What leader election and quotas need: the kinds beside pods and nodes, with their own watches.
TEST_F(ApiServerTest, LeasesAreWatchedByNameAndWrittenByVersion) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  Watcher watcher(api_, leases + "?watch=true&fieldSelector=metadata.name%3Dmine");
  ASSERT_TRUE(watcher.wait_open());
  EXPECT_EQ(call("POST", leases, R"({"metadata":{"name":"other"}})").status, 201);
  const auto made = call(
      "POST", leases,
      R"({"metadata":{"name":"mine"},"spec":{"holderIdentity":"a_1","leaseDurationSeconds":15}})");
  ASSERT_EQ(made.status, 201) << made.body;
  Value lease = Value::parse(made.body).value();
  lease.make("spec").make("holderIdentity") = "b_2";
  EXPECT_EQ(call("PUT", leases + "/mine", lease.dump()).status, 200);
  EXPECT_EQ(call("PUT", leases + "/mine", lease.dump()).status, 409) << "its version is old now";
  EXPECT_EQ(call("DELETE", leases + "/mine").status, 200);
  ASSERT_TRUE(watcher.wait_lines(3));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED mine", "MODIFIED mine", "DELETED mine"));
  EXPECT_EQ(watcher.last()["spec"]["holderIdentity"].text(), "b_2");
}

TEST_F(ApiServerTest, QuotasAreWatchedInAllNamespaces) {
  Watcher watcher(api_, "/api/v1/resourcequotas?watch=true");
  ASSERT_TRUE(watcher.wait_open());
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  EXPECT_EQ(
      call("POST", quotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"limits.x/y":10000}}})")
          .status,
      201);
  EXPECT_EQ(call("PATCH", quotas + "/q", R"({"spec":{"hard":{"limits.x/y":"5k"}}})", kMerge).status,
            200);
  EXPECT_EQ(call("PATCH", quotas + "/q/status", R"({"status":{"used":{"limits.x/y":"1"}}})", kMerge)
                .status,
            200);
  EXPECT_EQ(call("DELETE", quotas + "/q").status, 200);
  ASSERT_TRUE(watcher.wait_lines(4));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED q", "MODIFIED q", "MODIFIED q", "DELETED q"));
  EXPECT_EQ(watcher.last()["spec"]["hard"]["limits.x/y"].text(), "5k");
}

TEST_F(ApiServerTest, AWatchResumesFromHistoryWithoutGapOrRepeat) {
  make_pod("a");
  const std::string since = version();
  make_pod("b");
  remove("a");
  Watcher watcher(api_, watch_since(since));
  ASSERT_TRUE(watcher.wait_lines(2));
  make_pod("c");
  ASSERT_TRUE(watcher.wait_lines(3));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED b", "DELETED a", "ADDED c"));
}

TEST_F(ApiServerTest, AWatchWithoutVersionBeginsWithTheState) {
  make_pod("a");
  make_pod("b");
  Watcher watcher(api_, std::string(kPods) + "?watch=true");
  ASSERT_TRUE(watcher.wait_lines(2));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED a", "ADDED b"));
}

TEST_F(ApiServerTest, InitialEventsEndWithAMarkedBookmark) {
  make_pod("a");
  Watcher watcher(api_, std::string(kPods) +
                            "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                            "&resourceVersionMatch=NotOlderThan");
  ASSERT_TRUE(watcher.wait_lines(2));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_EQ(watcher.last()["metadata"]["annotations"]["k8s.io/initial-events-end"].text(), "true");
}

TEST_F(ApiServerTest, AnObjectThatStopsMatchingIsDeletedForTheWatcher) {
  make_pod("a", R"({"app":"web"})");
  make_pod("b");
  Watcher watcher(api_, watch_since(version(), "&labelSelector=app%3Dweb"));
  ASSERT_TRUE(watcher.wait_open());
  label("b", R"({"x":"y"})");
  label("a", R"({"app":"db"})");
  ASSERT_TRUE(watcher.wait_lines(1));
  EXPECT_EQ(watcher.last()["metadata"]["labels"]["app"].text(), "web");
  EXPECT_EQ(watcher.last()["metadata"]["resourceVersion"].text(), version());
  label("b", R"({"app":"web"})");
  label("b", R"({"more":"1"})");
  remove("a");
  remove("b");
  ASSERT_TRUE(watcher.wait_lines(4));
  EXPECT_THAT(watcher.lines(), ElementsAre("DELETED a", "ADDED b", "MODIFIED b", "DELETED b"));
}

TEST_F(ApiServerTest, AWatchOfOneNamespaceOrNodeSeesNoOthers) {
  server_->request("POST", "/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  Watcher watcher(api_, watch_since(version(), "&fieldSelector=spec.nodeName%3Dn1"));
  ASSERT_TRUE(watcher.wait_open());
  server_->request("POST", "/api/v1/namespaces/x/pods", R"({"metadata":{"name":"a"}})");
  make_pod("b");
  for (const char* place : {"/api/v1/namespaces/x/pods/a", "/api/v1/namespaces/default/pods/b"})
    server_->request("POST", std::string(place) + "/binding", R"({"target":{"name":"n1"}})");
  ASSERT_TRUE(watcher.wait_lines(1));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED b"));
}

TEST_F(ApiServerTest, BookmarksComeWhenAskedFor) {
  make_pod("a");
  Watcher with(api_, watch_since(version(), "&allowWatchBookmarks=true"));
  Watcher without(api_, watch_since(version()));
  ASSERT_TRUE(with.wait([](const Watcher& w) { return w.bookmarks_seen() >= 2; }));
  EXPECT_EQ(without.bookmarks(), 0U);
}

TEST_F(ApiServerTest, TimeoutSecondsEndsTheWatch) {
  Watcher watcher(api_, watch_since(version(), "&timeoutSeconds=1"));
  EXPECT_TRUE(watcher.wait_end());
  EXPECT_THAT(watcher.lines(), ElementsAre());
}

TEST_F(ApiServerTest, AnUnknownPastIsExpired) {
  const std::string since = version();
  for (int i = 0; i < 25; ++i) make_pod("p" + std::to_string(i));
  Watcher watcher(api_, watch_since(since));
  ASSERT_TRUE(watcher.wait_end());
  EXPECT_THAT(watcher.lines(), ElementsAre("ERROR "));
  EXPECT_EQ(watcher.last()["code"].integer(), 410);
  EXPECT_EQ(watcher.last()["reason"].text(), "Expired");
}

TEST_F(ApiServerTest, ForgottenHistoryIsExpiredButThePresentIsNot) {
  const std::string before = version();
  make_pod("a");
  server_->forget_history();
  Watcher old(api_, watch_since(before));
  Watcher fresh(api_, watch_since(version()));
  ASSERT_TRUE(old.wait_end());
  EXPECT_EQ(old.last()["code"].integer(), 410);
  ASSERT_TRUE(fresh.wait_open());
  make_pod("b");
  ASSERT_TRUE(fresh.wait_lines(1));
  EXPECT_THAT(fresh.lines(), ElementsAre("ADDED b"));
}

TEST_F(ApiServerTest, DroppedWatchesEnd) {
  Watcher watcher(api_, watch_since(version()));
  ASSERT_TRUE(watcher.wait_open());
  server_->drop_watches();
  EXPECT_TRUE(watcher.wait_end());
}

TEST_F(ApiServerTest, StalledWatchesAreSilentAndLoseNothing) {
  Watcher watcher(api_, watch_since(version()));
  ASSERT_TRUE(watcher.wait_open());
  server_->stall_watches(true);
  make_pod("a");
  Watcher late(api_, watch_since("1"));
  ASSERT_TRUE(late.wait_open());
  EXPECT_FALSE(watcher.wait([](const Watcher& w) { return !w.silent(); }, milliseconds(200)));
  server_->stall_watches(false);
  ASSERT_TRUE(watcher.wait_lines(1));
  ASSERT_TRUE(late.wait_lines(1));
  EXPECT_THAT(watcher.lines(), ElementsAre("ADDED a"));
  EXPECT_THAT(late.lines(), ElementsAre("ADDED a"));
}

struct FaultCase {
  std::string_view name;
  int status;
  std::string_view reason;
};
class ApiFaultTest : public ApiServerTest, public testing::WithParamInterface<FaultCase> {};
TEST_P(ApiFaultTest, AnswersInsteadAsOftenAsAskedAndHasNoEffect) {
  server_->inject({.match = "POST /api/v1/", .times = 2, .status = GetParam().status});
  for (int i = 0; i < 2; ++i) {
    const auto answer = call("POST", kPods, R"({"metadata":{"name":"a"}})");
    EXPECT_EQ(answer.status, GetParam().status);
    EXPECT_EQ(Value::parse(answer.body).value()["reason"].text(), GetParam().reason);
  }
  EXPECT_EQ(call("GET", std::string(kPods) + "/a").status, 404);
  EXPECT_EQ(call("POST", kPods, R"({"metadata":{"name":"a"}})").status, 201);
}
INSTANTIATE_TEST_SUITE_P(Table, ApiFaultTest,
                         testing::ValuesIn(std::vector<FaultCase>{
                             {"conflict", 409, "Conflict"},
                             {"gone", 410, "Expired"},
                             {"too_many", 429, "TooManyRequests"},
                             {"internal", 500, "InternalError"},
                             {"unavailable", 503, "ServiceUnavailable"},
                         }),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(ApiServerTest, RetryAfterIsSent) {
  server_->inject({.match = "GET ", .status = 429, .retry_after = milliseconds(1500)});
  EXPECT_EQ(call("GET", "/version").retry_after, seconds(2));
}

TEST_F(ApiServerTest, DelaysHoldOneRequestOnly) {
  server_->inject({.match = "GET /api/v1/nodes", .delay = milliseconds(200)});
  const auto start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  api_.send({.path = "/api/v1/nodes"}, [&](const client::ApiResponse&) {
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  });
  EXPECT_EQ(call("GET", kPods).status, 200);
  const auto other = std::chrono::steady_clock::now() - start;
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, seconds(10), [&] { return done; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(200));
  EXPECT_LT(other, milliseconds(200));
}

TEST_F(ApiServerTest, ACutRequestHasNoEffectADroppedAnswerHas) {
  server_->inject({.match = "POST", .cut = true});
  EXPECT_EQ(call("POST", kPods, R"({"metadata":{"name":"a"}})").status, 0);
  EXPECT_EQ(call("GET", std::string(kPods) + "/a").status, 404);
  server_->inject({.match = "POST", .drop_after_effect = true});
  // a connection of its own: on one used before, libcurl sends the request once more and meets its
  // first effect
  client::ApiClient fresh(credentials_, {.user_agent = "tester"}, metrics_);
  EXPECT_EQ(
      fresh.call({.method = "POST", .path = kPods, .body = R"({"metadata":{"name":"b"}})"}).status,
      0);
  EXPECT_EQ(call("GET", std::string(kPods) + "/b").status, 200);
}

TEST_F(ApiServerTest, ClearedFaultsActNoMore) {
  server_->inject({.match = "GET", .times = -1, .status = 500});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call("GET", kPods).status, 500);
  server_->clear_faults();
  EXPECT_EQ(call("GET", kPods).status, 200);
}

TEST_F(ApiServerTest, RequestsAreCountedByAgentVerbAndResource) {
  call("POST", kPods, R"({"metadata":{"name":"a"}})");
  call("POST", std::string(kPods) + "/a/binding", R"({"target":{"name":"n1"}})");
  call("PATCH", std::string(kPods) + "/a", "{}", kMerge);
  call("GET", std::string(kPods) + "/a");
  call("GET", kPods);
  Watcher watcher(api_, watch_since(version()));
  ASSERT_TRUE(watcher.wait_open());
  const std::map<std::string, std::uint64_t> want{
      {"tester|POST pods", 1}, {"tester|POST pods/binding", 1}, {"tester|PATCH pods", 1},
      {"tester|GET pods", 1},  {"tester|LIST pods", 1},         {"tester|WATCH pods", 1}};
  EXPECT_EQ(server_->request_counts(), want);
}

TEST_F(ApiServerTest, TheKubeconfigNamesTheServer) {
  EXPECT_EQ(credentials_.server, server_->url());
  EXPECT_THAT(server_->url(), HasSubstr("http://127.0.0.1:"));
}

class ApiTokenTest : public ApiServerTest {
 protected:
  ApiTokenTest() : ApiServerTest(ApiServer::Options{.token = "secret"}) {}
};

TEST_F(ApiTokenTest, IsRequired) {
  EXPECT_EQ(call("GET", kPods).status, 200);
  client::Credentials without = credentials_;
  without.token.clear();
  client::ApiClient stranger(without, {.user_agent = "stranger"}, metrics_);
  EXPECT_EQ(stranger.call({.path = kPods}).status, 401);
  EXPECT_EQ(stranger.call({.path = "/healthz"}).status, 200);
}

TEST(ApiServerStartTest, AnAddressThatCannotBeBoundIsAnError) {
  const SystemClock clock;
  EXPECT_FALSE(ApiServer::start({.address = "not-an-address"}, clock));
}

}  // namespace
}  // namespace tessera::sim
