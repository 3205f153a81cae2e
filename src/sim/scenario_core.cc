// Runs a scenario against the core alone: objects are read by the same readers as in the live
// server, then place() decides.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/text.h"
#include "core/place.h"
#include "json/reader.h"
#include "service/facts.h"
#include "service/serve_check.h"
#include "sim/scenario.h"
#include "sim/scenario_objects.h"
#include "sim/scenario_verdict.h"

namespace tessera::sim {
namespace {

class CoreRun {
 public:
  CoreRun(const Scenario& scenario, service::ServePlan plan)
      : scenario_(scenario),
        reader_(std::make_shared<const vendors::Vendors>(std::move(plan.vendors)), plan.defaults),
        cluster_(reader_.vendors().rules()) {}

  std::string run() {
    if (const Status s = prepare(); !s)
      return fmt::format("{}: {}", scenario_.file, s.error().what);
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      const ScenarioStep& step = scenario_.steps[i];
      if (step.kind == ScenarioStep::Kind::kPod) {
        const Result<Verdict> verdict = decide(step.pod);
        if (!verdict) return at(step, verdict.error());
        const std::string wrong = compare(scenario_, scenario_.steps[i + 1], *verdict);
        if (!wrong.empty()) return wrong;
      } else if (const Status s = happen(step); !s) {
        return at(step, s.error());
      }
    }
    return self_check();
  }

 private:
  static PodUid uid_of(const std::string& pod) { return {"uid-" + pod}; }
  std::string at(const ScenarioStep& step, const Error& error) const {
    return fmt::format("{}:{}: {}", scenario_.file, step.line, error.what);
  }

  Status prepare() {
    for (const ScenarioNode& node : scenario_.nodes)
      if (Status s = set_node(node); !s) return s;
    for (const ScenarioQuota& quota : scenario_.quotas)
      if (Status s = set_quota(quota); !s) return s;
    for (const ScenarioPod& pod : scenario_.running)
      if (Status s = confirm(pod); !s) return s;
    return {};
  }

  Status happen(const ScenarioStep& step) {
    using Kind = ScenarioStep::Kind;
    switch (step.kind) {
      case Kind::kDelete:
      case Kind::kFinish:
        cluster_.release(uid_of(step.name));
        bound_.erase(step.name);
        return {};
      case Kind::kInitDone:
        return init_done(step.name);
      case Kind::kNode:
        return set_node(step.node_is);
      case Kind::kNodeGone:
        nodes_.erase(step.name);
        cluster_.remove_node(step.name);
        return {};
      case Kind::kQuota:
        return set_quota(step.quota);
      case Kind::kQuotaGone:
        quotas_.erase(step.name);
        cluster_.remove_quota(kScenarioNamespace, step.name);
        return {};
      case Kind::kRestart:
        return restart();
      case Kind::kPod:
      case Kind::kExpectOn:
      case Kind::kExpectNowhere:
        break;
    }
    return {};
  }

  /// Everything anew from the objects that would be there.
  Status restart() {
    cluster_ = core::Cluster(reader_.vendors().rules());
    for (const auto& [name, node] : nodes_)
      if (Status s = set_node(ScenarioNode(node)); !s) return s;
    for (const auto& [name, quota] : quotas_)
      if (Status s = set_quota(ScenarioQuota(quota)); !s) return s;
    for (const auto& [name, pod] : bound_)
      if (Status s = confirm(ScenarioPod(pod)); !s) return s;
    return {};
  }

  Status set_node(const ScenarioNode& node) {
    if (std::find(names_.begin(), names_.end(), node.name) == names_.end())
      names_.push_back(node.name);
    nodes_[node.name] = node;
    if (!selected(node)) return {};
    json::Parser parser;
    const std::string text = node_object(scenario_, node);
    const Result<json::Value> value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    Result<service::NodeFact> fact = reader_.read_node(*value);
    if (!fact) return tl::unexpected(fact.error());
    if (!fact->problems.empty()) return fail(Code::kInvalid, fact->problems.front());
    cluster_.set_node(std::move(fact->spec));
    return {};
  }

  /// The API server selects for the live server.
  bool selected(const ScenarioNode& node) const {
    if (scenario_.selector.empty()) return true;
    return std::any_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
      return label.first + "=" + label.second == scenario_.selector;
    });
  }

  Status set_quota(const ScenarioQuota& quota) {
    quotas_[quota.name] = quota;
    json::Parser parser;
    const std::string text = quota_object(quota);
    const Result<json::Value> value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    Result<service::QuotaFact> fact = reader_.read_quota(*value);
    if (!fact) return tl::unexpected(fact.error());
    cluster_.set_quota(std::move(fact->spec));
    return {};
  }

  Result<service::PodFact> read_pod(const ScenarioPod& pod) {
    json::Parser parser;
    const std::string text = pod_object(scenario_, pod, uid_of(pod.name).v);
    const Result<json::Value> value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    Result<service::PodFact> fact = reader_.read_pod(*value);
    if (fact && !fact->problem.empty()) return fail(Code::kInvalid, fact->problem);
    return fact;
  }

  Status confirm(const ScenarioPod& pod) {
    Result<service::PodFact> fact = read_pod(pod);
    if (!fact) return tl::unexpected(fact.error());
    if (!fact->allocation)
      return fail(Code::kInvalid, fmt::format("pod {} holds no device", pod.name));
    bound_[pod.name] = pod;
    cluster_.confirm(uid_of(pod.name), std::move(*fact->allocation));
    return {};
  }

  Status init_done(const std::string& name) {
    const auto found = bound_.find(name);
    if (found == bound_.end())
      return fail(Code::kInvalid, fmt::format("pod {} is not bound", name));
    ScenarioPod pod = found->second;
    pod.init_done = true;
    return confirm(pod);
  }

  Result<Verdict> decide(const ScenarioPod& scenario_pod) {
    const Result<service::PodFact> fact = read_pod(scenario_pod);
    if (!fact) return tl::unexpected(fact.error());
    if (!fact->request)
      return fail(Code::kInvalid, fmt::format("pod {} asks no device", scenario_pod.name));
    std::vector<NodeId> candidates;
    for (const std::string& name : names_) candidates.push_back(cluster_.find_node(name));
    return verdict_of(core::place(cluster_, *fact->request, candidates), scenario_pod);
  }

  Result<Verdict> verdict_of(core::Outcome outcome, const ScenarioPod& scenario_pod) {
    Verdict verdict;
    for (const core::Outcome::Rejected& r : outcome.rejected) {
      verdict.reasons.emplace_back(names_[r.candidate], r.reject.text());
    }
    if (!outcome.decision) return verdict;
    core::Allocation& allocation = outcome.decision->allocation;
    verdict.node = cluster_.node(outcome.decision->node).spec.name;
    for (const auto& [key, value] : reader_.vendors().encode(allocation, WallTime{}))
      verdict.annotations.emplace_back(key, value);
    if (const Status s = read_annotations(scenario_, verdict); !s) return tl::unexpected(s.error());
    if (const Status s = cluster_.reserve(uid_of(scenario_pod.name), allocation, MonoTime::max());
        !s)
      return tl::unexpected(s.error());
    // What is written at bind is read back as after a restart.
    ScenarioPod bound = scenario_pod;
    bound.node = verdict.node;
    bound.annotations.insert(bound.annotations.end(), verdict.annotations.begin(),
                             verdict.annotations.end());
    if (const Status s = confirm(bound); !s) return tl::unexpected(s.error());
    return verdict;
  }

  std::string self_check() const {
    const std::vector<std::string> differences = cluster_.differences(cluster_.rebuild());
    return differences.empty()
               ? std::string()
               : scenario_.file + ": books differ: " + text::join(differences, "; ");
  }

  const Scenario& scenario_;
  const service::FactReader reader_;
  core::Cluster cluster_;
  std::vector<std::string> names_;  ///< candidates, in the order they were named
  std::map<std::string, ScenarioNode> nodes_;
  std::map<std::string, ScenarioQuota> quotas_;
  std::map<std::string, ScenarioPod> bound_;
};

}  // namespace

service::ServeOptions scenario_options(const Scenario& scenario) {
  service::ServeOptions options;
  options.http_bind = "127.0.0.1:0";
  options.metrics_bind = "";
  options.scheduler_name = "hami-scheduler";
  options.node_policy = scenario.node_policy;
  options.device_policy = scenario.device_policy;
  options.score_mode = scenario.score_mode;
  options.node_label_selector = scenario.selector;
  options.vendor_switches.ascend = true;
  return options;
}

std::string run_in_core(const Scenario& scenario) {
  Result<service::ServePlan> plan = service::check_options(scenario_options(scenario));
  if (!plan) return plan.error().what;
  return CoreRun(scenario, std::move(*plan)).run();
}

}  // namespace tessera::sim
