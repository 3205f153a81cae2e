/// What the tests of preemption share: pods with priorities, budgets, and the calls of a
/// kube-scheduler for one pod.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness.h"

namespace tessera::test {

struct PodSpec {
  int memory = 20'000;
  int priority = 0;
  std::string node;  ///< not empty: runs there and holds memory of `card`
  int card = 0;
  bool never = false;  ///< preemptionPolicy
  int grace = 0;       ///< seconds
  std::string app;     ///< label
  std::string ns = "default";
};

class PreemptTest : public ClusterTest {
 protected:
  PreemptTest() { options_.preemption = "own"; }

  std::string add(const std::string& name, const PodSpec& pod) {
    std::string annotations, node, policy, labels;
    if (!pod.node.empty()) {
      node = fmt::format(R"("nodeName":"{}",)", pod.node);
      annotations = fmt::format(
          R"("hami.io/vgpu-node":"{0}","hami.io/bind-phase":"success","hami.io/vgpu-devices-allocated":"{0}-card{1},NVIDIA,{2},0:;")",
          pod.node, pod.card, pod.memory);
    }
    if (pod.never) policy = R"("preemptionPolicy":"Never",)";
    if (!pod.app.empty()) labels = fmt::format(R"("app":"{}")", pod.app);
    const std::string body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}","annotations":{{{}}},"labels":{{{}}}}},
            "spec":{{{}{}"priority":{},"terminationGracePeriodSeconds":{},"schedulerName":"hami-scheduler","containers":[{{"name":"main","image":"none",
              "resources":{{"limits":{{"nvidia.com/gpu":"1","nvidia.com/gpumem":"{}","cpu":"1"}}}}}}]}}}})",
        name, pod.ns, annotations, labels, node, policy, pod.priority, pod.grace, pod.memory);
    const auto answer = api_->request("POST", "/api/v1/namespaces/" + pod.ns + "/pods", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    if (!pod.node.empty()) {
      const std::string started = format_rfc3339(clock_.wall() - std::chrono::seconds(age_--));
      patch_pod(name,
                fmt::format(R"({{"status":{{"phase":"Running","startTime":"{}"}}}})", started),
                "status");
    }
    return pod_field(name, {"metadata", "uid"});
  }

  void add_budget(const std::string& name, const std::string& app, int allowed) {
    const std::string path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    const auto made = api_->request(
        "POST", path,
        fmt::format(
            R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"minAvailable":1,"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
            name, app));
    ASSERT_EQ(made.status, 201) << made.body;
    allow(name, allowed);
  }
  void allow(const std::string& budget, int allowed) {
    const auto patched = api_->request(
        "PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/" + budget + "/status",
        fmt::format(R"({{"status":{{"disruptionsAllowed":{}}}}})", allowed),
        "application/merge-patch+json");
    ASSERT_EQ(patched.status, 200) << patched.body;
  }

  bool exists(const std::string& pod) { return !pod_text(pod).empty(); }
  bool leaving(const std::string& pod) {
    return !exists(pod) || !pod_field(pod, {"metadata", "deletionTimestamp"}).empty();
  }
  bool noted(const std::string& pod) { return !annotation(pod, "tessera.io/preemption").empty(); }
  bool fits(const std::string& pod, const std::vector<std::string>& nodes) {
    return !filter(pod, nodes).names_null;
  }
  /// A pod of low priority fills node n1, and one of high priority asks in vain: where most
  /// preemptions begin. Returns the UID of "high".
  std::string high_finds_the_node_full() {
    add_node("n1");
    add("low", {.node = "n1"});
    start_server();
    const std::string uid = add("high", {.priority = 1000});
    settle();
    EXPECT_FALSE(fits("high", {"n1"}));
    return uid;
  }
  double attempts(const std::string& result) {
    const double seen =
        metric(fmt::format(R"(tessera_preemption_attempts_total{{result="{}"}})", result));
    return seen < 0 ? 0 : seen;
  }
  double evictions() { return metric(R"(tessera_preemption_victims_total{result="evicted"})"); }

  int age_ = 10'000;  ///< of the next running pod, in seconds: the later made, the younger
};

}  // namespace tessera::test
