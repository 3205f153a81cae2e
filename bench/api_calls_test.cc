#include "api_calls.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

constexpr auto kAgent = "tessera/0.1.0 (linux)";
constexpr auto kLockOfA =
    R"({"metadata":{"annotations":{"hami.io/mutex.lock":"2026-11-30T10:00:00Z,default,a"},"resourceVersion":"7"}})";

TEST(ApiCalls, CountsByPodWhatDecisionD16Counts) {
  ApiCalls calls;
  calls.saw(kAgent, "PATCH /api/v1/nodes/n1", kLockOfA);
  calls.saw(kAgent, "POST /api/v1/namespaces/default/pods/a/binding", "{}");
  calls.saw(kAgent, "POST /api/v1/namespaces/default/pods/b/binding", "{}");
  calls.saw(kAgent, "GET /api/v1/namespaces/default/pods/b?x=y", "");
  calls.saw(kAgent, "PATCH /api/v1/namespaces/default/pods/b", "{}");
  calls.saw(kAgent, "GET /api/v1/nodes/n1", "");  // names no pod
  const ApiCalls::Figures figures = calls.figures();
  EXPECT_EQ(figures.pods, 2U);
  EXPECT_EQ(figures.named, 5U);
  EXPECT_EQ(figures.other, 1U);
  EXPECT_EQ(figures.most, 3U);
  EXPECT_DOUBLE_EQ(figures.mean, 3.0);
  EXPECT_EQ(calls.text(),
            "GET nodes 1, GET pods 1, PATCH nodes 1, PATCH pods 1, POST pods/binding 2");
}

TEST(ApiCalls, LeavesOutListsWatchesEventsHandshakesAndOthersCalls) {
  ApiCalls calls;
  calls.saw(kAgent, "GET /api/v1/pods?watch=true", "");
  calls.saw(kAgent, "GET /api/v1/nodes?limit=500", "");
  calls.saw(kAgent, "GET /api/v1/namespaces/default/pods", "");
  calls.saw(kAgent, "POST /api/v1/namespaces/default/events", "{}");
  calls.saw(kAgent, "GET /apis/coordination.k8s.io/v1/namespaces/default/leases/x", "");
  calls.saw(kAgent, "PATCH /api/v1/nodes/n1",
            R"({"metadata":{"annotations":{"hami.io/node-handshake-xpu":"Requesting_2026"}}})");
  calls.saw("agents", "PATCH /api/v1/nodes/n1", kLockOfA);
  EXPECT_EQ(calls.text(), "");
  EXPECT_EQ(calls.figures().pods, 0U);
}

}  // namespace
}  // namespace tessera::bench
