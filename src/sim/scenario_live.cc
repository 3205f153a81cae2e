// Runs a scenario over HTTP: objects are created in the API server, the server under test is asked
// as kube-scheduler asks, and the devices are read from the bound pod. Nobody else serves the
// nodes, so this plays the node agent too.
#include "sim/scenario_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/scenario_objects.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

using Moment = std::chrono::steady_clock::time_point;
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kPause{10};
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

std::string pod_path(const std::string& name) { return fmt::format("{}/{}", kPods, name); }

std::string uid_in(const std::string& object) {
  json::Parser parser;
  const Result<json::Value> value = parser.parse(std::string_view(object));
  return value ? std::string((*value)["metadata"]["uid"].string_or("")) : std::string();
}

class LiveRun {
 public:
  LiveRun(const Scenario& scenario, const std::string& api_url, const std::string& extender_url)
      : scenario_(scenario), cluster_(api_url, extender_url) {
    for (const ScenarioNode& node : scenario.nodes) node_names_.push_back(node.name);
  }

  std::string run() {
    if (const Status s = prepare(); !s)
      return fmt::format("{}: {}", scenario_.file, s.error().what);
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      const std::string wrong = step(
          scenario_.steps[i], i + 1 < scenario_.steps.size() ? &scenario_.steps[i + 1] : nullptr);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  Status prepare() {
    for (const ScenarioNode& node : scenario_.nodes) {
      if (const auto made = cluster_.create("/api/v1/nodes", node_object(node)); !made)
        return tl::unexpected(made.error());
    }
    for (const ScenarioPod& pod : scenario_.running) {
      if (const auto made = cluster_.create(std::string(kPods), pod_object(scenario_, pod, ""));
          !made)
        return tl::unexpected(made.error());
    }
    return wait_until_seen();
  }

  std::string step(const ScenarioStep& step, const ScenarioStep* next) {
    using Kind = ScenarioStep::Kind;
    Status done;
    std::string wrong;
    if (step.kind == Kind::kDelete) done = cluster_.remove(pod_path(step.name));
    if (step.kind == Kind::kFinish)
      done = cluster_.merge(pod_path(step.name) + "/status", R"({"status":{"phase":"Succeeded"}})");
    if (step.kind == Kind::kPod) done = place(step.pod, *next, wrong);
    if (!done) return fmt::format("{}:{}: {}", scenario_.file, step.line, done.error().what);
    return wrong;
  }

  /// The server learns of ended pods by its watch, a moment later than we end them: an unexpected
  /// answer is asked for again.
  Status place(const ScenarioPod& pod, const ScenarioStep& expectation, std::string& wrong) {
    const Result<std::string> created =
        cluster_.create(std::string(kPods), pod_object(scenario_, pod, ""));
    if (!created) return tl::unexpected(created.error());
    const Moment deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      Result<Verdict> verdict = cluster_.filter(*created, node_names_);
      if (!verdict) return tl::unexpected(verdict.error());
      const bool as_expected = acceptable(expectation, *verdict);
      if (!as_expected && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      if (!verdict->node.empty()) {
        if (const Status s = bind(pod, uid_in(*created), *verdict); !s) return s;
      }
      wrong = compare(scenario_, expectation, *verdict);
      return {};
    }
  }

  /// Devices are known after bind only, so before it the node alone counts.
  bool acceptable(const ScenarioStep& expectation, const Verdict& verdict) const {
    if (expectation.kind == ScenarioStep::Kind::kExpectOn) return verdict.node == expectation.node;
    return compare(scenario_, expectation, verdict).empty();
  }

  Status bind(const ScenarioPod& pod, const std::string& uid, Verdict& verdict) {
    if (const Status s = cluster_.bind(pod.name, uid, verdict.node); !s) return s;
    const Result<std::string> bound = cluster_.get(pod_path(pod.name));
    if (!bound) return tl::unexpected(bound.error());
    json::Parser parser;
    const Result<json::Value> value = parser.parse(std::string_view(*bound));
    if (!value) return tl::unexpected(value.error());
    verdict.node = (*value)["spec"]["nodeName"].string_or("");
    verdict.device_text =
        (*value)["metadata"]["annotations"]["hami.io/vgpu-devices-allocated"].string_or("");
    const auto positions = vendors::decode_pod_devices(verdict.device_text);
    if (!positions) return tl::unexpected(positions.error());
    for (const auto& position : *positions)
      for (const vendors::DeviceText& device : position) verdict.cards.push_back(device.id);
    return serve(pod.name, verdict.node);
  }

  /// What the node agent and the kubelet do.
  Status serve(const std::string& pod, const std::string& node) {
    if (const Status s = cluster_.merge(
            pod_path(pod), R"({"metadata":{"annotations":{"hami.io/bind-phase":"success"}}})");
        !s)
      return s;
    if (const Status s = cluster_.merge(
            "/api/v1/nodes/" + node, R"({"metadata":{"annotations":{"hami.io/mutex.lock":null}}})");
        !s)
      return s;
    return cluster_.merge(pod_path(pod) + "/status", R"({"status":{"phase":"Running"}})");
  }

  // --- what the server has seen, asked by pods that cannot be placed ---

  Status wait_until_seen() {
    const Moment deadline = std::chrono::steady_clock::now() + kPatience;
    std::string missing;
    while (std::chrono::steady_clock::now() < deadline) {
      Result<std::string> found = first_unseen();
      if (!found) return tl::unexpected(found.error());
      if (found->empty()) return {};
      missing = *found;
      std::this_thread::sleep_for(kPause);
    }
    return fail(Code::kUnavailable, "the server did not see " + missing);
  }

  ScenarioPod probe(const std::string& card, std::int64_t memory) const {
    ScenarioPod pod{
        .name = "probe", .containers = {{}}, .annotations = {{"nvidia.com/use-gpuuuid", card}}};
    pod.containers[0].limits = {{"nvidia.com/gpu", "1"},
                                {"nvidia.com/gpumem", std::to_string(memory)}};
    return pod;
  }

  Result<std::string> first_unseen() {
    // The asks for room come first: the last probe fits nowhere and so leaves no reservation.
    std::string unseen;
    for (const auto& [card, free] : free_after_running()) {
      const Result<Verdict> v =
          cluster_.filter(pod_object(scenario_, probe(card, free + 1), "probe"), node_names_);
      if (!v) return tl::unexpected(v.error());
      if (!v->node.empty()) unseen = "the pods on " + card;
    }
    const Result<Verdict> v =
        cluster_.filter(pod_object(scenario_, probe("no-such-card", 1), "probe"), node_names_);
    if (!v) return tl::unexpected(v.error());
    for (const ScenarioNode& node : scenario_.nodes) {
      if (!seen(node, *v)) unseen = "node " + node.name;
    }
    return unseen;
  }

  static bool seen(const ScenarioNode& node, const Verdict& verdict) {
    const bool has_devices = node.registered && node.offered;
    for (const auto& [name, text] : verdict.reasons) {
      if (name != node.name) continue;
      if (!has_devices) return text == "node unregistered";
      return text.find(fmt::format("/{} Card", node.devices.size())) != std::string::npos;
    }
    return false;
  }

  /// Of cards that running pods use: the memory they leave, by what their device texts say.
  std::map<std::string, std::int64_t> free_after_running() const {
    std::map<std::string, std::int64_t> free;
    for (const ScenarioPod& pod : scenario_.running) {
      const auto positions = vendors::decode_pod_devices(device_text(scenario_, pod));
      if (!positions) continue;
      for (const auto& position : *positions)
        for (const vendors::DeviceText& d : position)
          free.try_emplace(d.id, memory_of(d.id)).first->second -= d.memory;
    }
    return free;
  }

  std::int64_t memory_of(const std::string& id) const {
    for (const ScenarioNode& node : scenario_.nodes)
      for (const core::Device& d : node.devices)
        if (d.id == id) return d.memory.v;
    return 0;
  }

  const Scenario& scenario_;
  LiveCluster cluster_;
  std::vector<std::string> node_names_;
};

}  // namespace

std::string run_live(const Scenario& scenario, const std::string& api_url,
                     const std::string& extender_url) {
  return LiveRun(scenario, api_url, extender_url).run();
}

}  // namespace tessera::sim
