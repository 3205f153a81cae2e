// Runs a scenario over HTTP: objects are created in the API server, the server under test is asked
// as kube-scheduler asks, and the devices are read from the bound pod. Nobody else serves the
// nodes, so this plays the node agent too.
#include "sim/scenario_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/scenario_barrier.h"
#include "sim/scenario_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kQuotas = "/api/v1/namespaces/default/resourcequotas";

std::string pod_path(const std::string& name) { return fmt::format("{}/{}", kPods, name); }
std::string node_path(const std::string& name) { return "/api/v1/nodes/" + name; }
std::string quota_path(const std::string& name) { return fmt::format("{}/{}", kQuotas, name); }

std::string uid_in(const std::string& object) {
  json::Parser parser;
  const Result<json::Value> value = parser.parse(std::string_view(object));
  return value ? std::string((*value)["metadata"]["uid"].string_or("")) : std::string();
}

Status only_status(const Result<std::string>& result) {
  return result ? Status{} : Status(tl::unexpected(result.error()));
}

class LiveRun {
 public:
  LiveRun(const Scenario& scenario, const LiveTarget& target)
      : scenario_(scenario),
        target_(target),
        cluster_(target.api_url, target.extender_url),
        barrier_(cluster_, scenario) {}

  std::string run() {
    if (const Status s = prepare(); !s)
      return fmt::format("{}: {}", scenario_.file, s.error().what);
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      const ScenarioStep& step = scenario_.steps[i];
      std::string wrong;
      const Status done = step.kind == ScenarioStep::Kind::kPod
                              ? place(step.pod, scenario_.steps[i + 1], wrong)
                              : happen(step);
      if (!done) return fmt::format("{}:{}: {}", scenario_.file, step.line, done.error().what);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  Status prepare() {
    for (const ScenarioNode& node : scenario_.nodes)
      if (Status s = set_node(node); !s) return s;
    for (const ScenarioQuota& quota : scenario_.quotas)
      if (Status s = set_quota(quota); !s) return s;
    for (const ScenarioPod& pod : scenario_.running) {
      if (const auto made = cluster_.create(std::string(kPods), pod_object(scenario_, pod, ""));
          !made)
        return tl::unexpected(made.error());
      pods_[pod.name] = pod;
      if (!pod.init_done) continue;
      if (Status s = cluster_.merge(pod_path(pod.name) + "/status", init_done_patch(pod)); !s)
        return s;
    }
    return barrier_.wait();
  }

  Status happen(const ScenarioStep& step) {
    const Status done = write(step);
    const bool changes = step.kind != ScenarioStep::Kind::kExpectOn &&
                         step.kind != ScenarioStep::Kind::kExpectNowhere;
    return done && changes ? barrier_.wait() : done;
  }

  Status write(const ScenarioStep& step) {
    using Kind = ScenarioStep::Kind;
    switch (step.kind) {
      case Kind::kDelete:
        return cluster_.remove(pod_path(step.name));
      case Kind::kFinish:
        return cluster_.merge(pod_path(step.name) + "/status",
                              R"({"status":{"phase":"Succeeded"}})");
      case Kind::kInitDone:
        return cluster_.merge(pod_path(step.name) + "/status", init_done_patch(pods_[step.name]));
      case Kind::kNode:
        return set_node(step.node_is);
      case Kind::kNodeGone:
        there_.erase(step.name);
        return cluster_.remove(node_path(step.name));
      case Kind::kQuota:
        return set_quota(step.quota);
      case Kind::kQuotaGone:
        quotas_.erase(step.name);
        return cluster_.remove(quota_path(step.name));
      case Kind::kRestart:
        return restart();
      case Kind::kPod:
      case Kind::kExpectOn:
      case Kind::kExpectNowhere:
        break;
    }
    return {};
  }

  Status set_node(const ScenarioNode& node) {
    if (std::find(names_.begin(), names_.end(), node.name) == names_.end())
      names_.push_back(node.name);
    if (!std::exchange(there_[node.name], true))
      return only_status(cluster_.create("/api/v1/nodes", node_object(scenario_, node)));
    if (Status s = cluster_.merge(node_path(node.name), node_patch(scenario_, node)); !s) return s;
    return cluster_.merge(node_path(node.name) + "/status", node_status_patch(scenario_, node));
  }

  Status set_quota(const ScenarioQuota& quota) {
    // Replaced as a whole: a resource that is left out has no limit any more.
    if (std::exchange(quotas_[quota.name], true)) {
      if (Status s = cluster_.remove(quota_path(quota.name)); !s) return s;
    }
    return only_status(cluster_.create(std::string(kQuotas), quota_object(quota)));
  }

  Status restart() {
    if (!target_.restart) return fail(Code::kInvalid, "this run cannot restart its server");
    const Result<std::string> url = target_.restart();
    if (!url) return tl::unexpected(url.error());
    cluster_.use_extender(*url);
    return {};
  }

  Status place(const ScenarioPod& pod, const ScenarioStep& expectation, std::string& wrong) {
    const Result<std::string> created =
        cluster_.create(std::string(kPods), pod_object(scenario_, pod, ""));
    if (!created) return tl::unexpected(created.error());
    pods_[pod.name] = pod;
    Result<Verdict> verdict = cluster_.filter(*created, names_);
    if (!verdict) return tl::unexpected(verdict.error());
    if (!verdict->node.empty()) {
      if (const Status s = bind(pod, uid_in(*created), *verdict); !s) return s;
    }
    wrong = compare(scenario_, expectation, *verdict);
    return {};
  }

  Status bind(const ScenarioPod& pod, const std::string& uid, Verdict& verdict) {
    if (const Status s = cluster_.bind(pod.name, uid, verdict.node); !s) return s;
    const Result<std::string> bound = cluster_.get(pod_path(pod.name));
    if (!bound) return tl::unexpected(bound.error());
    json::Parser parser;
    const Result<json::Value> value = parser.parse(std::string_view(*bound));
    if (!value) return tl::unexpected(value.error());
    verdict.node = (*value)["spec"]["nodeName"].string_or("");
    (*value)["metadata"]["annotations"].for_each_member(
        [&](std::string_view key, json::Value text) {
          verdict.annotations.emplace_back(key, text.string_or(""));
        });
    if (const Status s = read_annotations(scenario_, verdict); !s) return s;
    return serve(pod.name, verdict.node);
  }

  /// What the node agent and the kubelet do.
  Status serve(const std::string& pod, const std::string& node) {
    if (const Status s = cluster_.merge(
            pod_path(pod), R"({"metadata":{"annotations":{"hami.io/bind-phase":"success"}}})");
        !s)
      return s;
    if (const Status s = cluster_.merge(
            node_path(node), R"({"metadata":{"annotations":{"hami.io/mutex.lock":null}}})");
        !s)
      return s;
    return cluster_.merge(pod_path(pod) + "/status", R"({"status":{"phase":"Running"}})");
  }

  const Scenario& scenario_;
  const LiveTarget& target_;
  LiveCluster cluster_;
  Barrier barrier_;
  std::vector<std::string> names_;  ///< candidates, in the order they were named
  std::map<std::string, bool> there_, quotas_;
  std::map<std::string, ScenarioPod> pods_;
};

}  // namespace

std::string run_live(const Scenario& scenario, const LiveTarget& target) {
  return LiveRun(scenario, target).run();
}

}  // namespace tessera::sim
