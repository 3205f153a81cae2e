// Runs a scenario against the core alone: objects are read by the same decoders as in the live
// server, then place() decides.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/text.h"
#include "core/place.h"
#include "json/reader.h"
#include "k8s/decode.h"
#include "policies/registry.h"
#include "sim/scenario.h"
#include "sim/scenario_objects.h"
#include "sim/scenario_verdict.h"
#include "vendors/vendors.h"

namespace tessera::sim {
namespace {

class CoreRun {
 public:
  explicit CoreRun(const Scenario& scenario, vendors::Vendors vendors)
      : scenario_(scenario), vendors_(std::move(vendors)), cluster_(vendors_.rules()) {}

  std::string run() {
    for (const ScenarioNode& node : scenario_.nodes) {
      if (const Status s = add_node(node); !s) return s.error().what;
    }
    for (const ScenarioPod& pod : scenario_.running) {
      if (const Status s = add_running(pod); !s) return s.error().what;
    }
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      const ScenarioStep& step = scenario_.steps[i];
      if (step.kind == ScenarioStep::Kind::kDelete || step.kind == ScenarioStep::Kind::kFinish) {
        cluster_.release(uid_of(step.name));
        continue;
      }
      if (step.kind != ScenarioStep::Kind::kPod) continue;
      const Result<Verdict> verdict = decide(step.pod);
      if (!verdict)
        return fmt::format("{}:{}: {}", scenario_.file, step.line, verdict.error().what);
      const std::string wrong = compare(scenario_, scenario_.steps[i + 1], *verdict);
      if (!wrong.empty()) return wrong;
    }
    return self_check();
  }

 private:
  static PodUid uid_of(const std::string& pod) { return {"uid-" + pod}; }

  Status add_node(const ScenarioNode& scenario_node) {
    json::Parser parser;
    const std::string text = node_object(scenario_node);
    const Result<json::Value> value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    const Result<k8s::Node> node = k8s::decode_node(*value, vendors_.keep());
    if (!node) return tl::unexpected(node.error());
    vendors::NodeReading reading = vendors_.read_node(*node);
    if (!reading.problems.empty()) return fail(Code::kInvalid, reading.problems.front());
    if (reading.has_register) cluster_.set_node(std::move(reading.spec));
    return {};
  }

  Result<k8s::Pod> read_pod(const ScenarioPod& pod) {
    json::Parser parser;
    const std::string text = pod_object(scenario_, pod, uid_of(pod.name).v);
    const Result<json::Value> value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    return k8s::decode_pod(*value, vendors_.keep());
  }

  Status add_running(const ScenarioPod& scenario_pod) {
    const Result<k8s::Pod> pod = read_pod(scenario_pod);
    if (!pod) return tl::unexpected(pod.error());
    Result<core::Allocation> allocation = vendors_.decode(*pod);
    if (!allocation) return tl::unexpected(allocation.error());
    allocation->node = scenario_pod.node;
    cluster_.confirm({pod->uid}, std::move(*allocation));
    return {};
  }

  Result<Verdict> decide(const ScenarioPod& scenario_pod) {
    const Result<k8s::Pod> pod = read_pod(scenario_pod);
    if (!pod) return tl::unexpected(pod.error());
    const Result<std::vector<const core::DevicePolicy*>> chain =
        policies::parse_device_chain(scenario_.device_policy);
    if (!chain) return tl::unexpected(chain.error());
    const Result<vendors::Demand> demand =
        vendors_.demand(*pod, {policies::find_node_policy(scenario_.node_policy), *chain});
    if (!demand) return tl::unexpected(demand.error());
    if (!demand->request.asks_devices()) {
      return fail(Code::kInvalid, fmt::format("pod {} asks no device", scenario_pod.name));
    }
    std::vector<NodeId> candidates;
    for (const ScenarioNode& node : scenario_.nodes) {
      candidates.push_back(cluster_.find_node(node.name));
    }
    return verdict_of(core::place(cluster_, demand->request, candidates), {pod->uid});
  }

  Result<Verdict> verdict_of(core::Outcome outcome, const PodUid& uid) {
    Verdict verdict;
    for (const core::Outcome::Rejected& r : outcome.rejected) {
      verdict.reasons.emplace_back(scenario_.nodes[r.candidate].name, r.reject.text());
    }
    if (!outcome.decision) return verdict;
    core::Allocation& allocation = outcome.decision->allocation;
    verdict.node = cluster_.node(outcome.decision->node).spec.name;
    for (const core::Grant& grant : allocation.grants) verdict.cards.push_back(grant.device);
    for (const auto& [key, value] : vendors_.encode(allocation, WallTime{})) {
      if (key == "hami.io/vgpu-devices-allocated") verdict.device_text = value;
    }
    if (const Status s = cluster_.reserve(uid, allocation, MonoTime::max()); !s) {
      return tl::unexpected(s.error());
    }
    cluster_.confirm(uid, std::move(allocation));
    return verdict;
  }

  std::string self_check() const {
    const std::vector<std::string> differences = cluster_.differences(cluster_.rebuild());
    return differences.empty()
               ? std::string()
               : scenario_.file + ": books differ: " + text::join(differences, "; ");
  }

  const Scenario& scenario_;
  vendors::Vendors vendors_;
  core::Cluster cluster_;
};

}  // namespace

std::string run_in_core(const Scenario& scenario) {
  vendors::ConfigResult config = vendors::parse_device_config(vendors::default_device_config());
  if (!config.faults.empty()) return config.faults.front().text();
  Result<vendors::Vendors> vendors = vendors::Vendors::make(config.config);
  if (!vendors) return vendors.error().what;
  return CoreRun(scenario, std::move(*vendors)).run();
}

}  // namespace tessera::sim
