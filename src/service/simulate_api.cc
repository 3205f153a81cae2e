#include "service/simulate_api.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json/writer.h"
#include "k8s/decode.h"
#include "service/explain_api.h"
#include "service/explain_text.h"
#include "service/filter_text.h"
#include "service/trial.h"

namespace tessera::service {
namespace {

constexpr std::size_t kMostPods = 1000;
constexpr std::size_t kMostReasons = 100;  // nodes named for a pod that fits nowhere
/// The copy of the live cluster is taken in portions, so that no decision waits for it.
constexpr std::uint32_t kNodesPerPortion = 16;

struct SimulatedPod {
  std::string name;  ///< "ns/name"
  core::Request request;
  std::vector<std::string> warnings;
};

struct Simulation {
  std::shared_ptr<const FactReader> reader;
  std::vector<SimulatedPod> pods;
  bool live = true;  ///< no nodes were given
  std::vector<core::NodeSpec> nodes;
};

Result<SimulatedPod> read_pod(const FactReader& reader, json::Value object, std::size_t index) {
  const auto problem = [&](const std::string& what) {
    return fail(Code::kInvalid, fmt::format("pods[{}]: {}", index, what));
  };
  Result<k8s::Pod> pod = k8s::decode_pod(object, reader.keep());
  if (!pod) return problem(pod.error().what);
  if (pod->ns.empty()) pod->ns = "default";
  Result<vendors::Demand> demand = reader.vendors().demand(*pod, reader.defaults());
  if (!demand) return problem(demand.error().what);
  SimulatedPod out;
  out.name = pod->ns + "/" + (pod->name.empty() ? pod->generate_name : pod->name);
  out.request = std::move(demand->request);
  out.request.uid = {fmt::format("simulated-{}", index)};
  out.warnings = std::move(demand->warnings);
  return out;
}

Status read_pods(json::Value body, Simulation& simulation) {
  const json::Value pods = body["pods"];
  if (pods.kind() != json::Kind::kArray) return fail(Code::kInvalid, "pods: expected an array");
  if (pods.size() > kMostPods) {
    return fail(Code::kInvalid, fmt::format("pods: {} are more than the {} that one call may name",
                                            pods.size(), kMostPods));
  }
  Status status;
  pods.for_each_element([&](json::Value object) {
    if (!status) return;
    Result<SimulatedPod> pod = read_pod(*simulation.reader, object, simulation.pods.size());
    if (pod)
      simulation.pods.push_back(std::move(*pod));
    else
      status = tl::unexpected(pod.error());
  });
  return status;
}

Status read_nodes(json::Value body, Simulation& simulation) {
  const json::Value nodes = body["nodes"];
  if (nodes.is_null_or_missing()) return {};
  if (nodes.kind() != json::Kind::kArray) return fail(Code::kInvalid, "nodes: expected an array");
  simulation.live = false;
  Status status;
  nodes.for_each_element([&](json::Value object) {
    if (!status) return;
    const std::size_t index = simulation.nodes.size();
    Result<k8s::Node> node = k8s::decode_node(object, simulation.reader->keep());
    if (!node || node->name.empty()) {
      status =
          fail(Code::kInvalid, fmt::format("nodes[{}]: {}", index,
                                           node ? "metadata.name is missing" : node.error().what));
      return;
    }
    core::NodeSpec spec = simulation.reader->vendors().read_node(*node).spec;
    spec.name = node->name;
    simulation.nodes.push_back(std::move(spec));
  });
  return status;
}

/// False when the state thread has stopped, or the configuration changed on the way.
bool copy_live_cluster(Scheduler& s, const Simulation& simulation, core::Cluster& trial) {
  bool same = true;
  std::uint32_t next = 0, count = 0;
  do {
    struct Portion {
      std::vector<core::NodeSpec> nodes;
      std::vector<std::pair<PodUid, core::Allocation>> holds;
    } portion;
    const bool ran = s.state.run([&] {
      same = s.live.get() == simulation.reader;
      const core::Cluster& books = s.books.cluster();
      count = static_cast<std::uint32_t>(books.node_count());
      for (std::uint32_t i = 0; i < kNodesPerPortion && next < count && same; ++i, ++next) {
        if (!books.node(NodeId{next}).present) continue;
        portion.nodes.push_back(books.node(NodeId{next}).spec);
        for (const PodUid& uid : books.holders_on(NodeId{next}))
          portion.holds.emplace_back(uid, hold_for_trial(*books.hold(uid)));
      }
    });
    if (!ran || !same) return false;
    for (core::NodeSpec& node : portion.nodes) trial.set_node(std::move(node));
    for (auto& [uid, allocation] : portion.holds) trial.confirm(uid, std::move(allocation));
  } while (next < count);
  return true;
}

void write_nowhere(json::Writer& w, const core::Cluster& trial, const core::Request& request,
                   const std::vector<NodeId>& nodes, const core::Outcome& outcome) {
  w.key("node").null();
  w.key("sentence").string(pod_sentence(trial, request, outcome, nodes));
  w.key("failedNodes").begin_object();
  for (std::size_t i = 0; i < outcome.rejected.size() && i < kMostReasons; ++i) {
    w.key(trial.node(nodes[outcome.rejected[i].candidate]).spec.name)
        .string(outcome.rejected[i].reject.text());
  }
  w.end_object();
}

void place_pod(json::Writer& w, const Simulation& simulation, const SimulatedPod& pod,
               core::Cluster& trial, WallTime now) {
  w.begin_object().key("pod").string(pod.name);
  if (!pod.warnings.empty()) {
    w.key("warnings").begin_array();
    for (const std::string& warning : pod.warnings) w.string(warning);
    w.end_array();
  }
  if (!pod.request.asks_devices()) {
    w.key("asksDevices").boolean(false).key("node").null().end_object();
    return;
  }
  const std::vector<NodeId> nodes = trial.present_nodes();
  core::Outcome outcome = core::place(trial, pod.request, nodes);
  if (outcome.decision) {
    w.key("node").string(trial.node(outcome.decision->node).spec.name);
    w.key("score").number(outcome.decision->score);
    write_annotations(w, *simulation.reader, outcome.decision->allocation, now);
    // It fitted a moment ago on the same state.
    (void)trial.reserve(pod.request.uid, std::move(outcome.decision->allocation), MonoTime::max());
  } else {
    write_nowhere(w, trial, pod.request, nodes, outcome);
  }
  w.end_object();
}

http::Response simulate(Scheduler& s, Simulation& simulation) {
  core::Cluster trial(simulation.reader->vendors().rules());
  if (const auto quotas = s.quota_view.get()) copy_quotas_left(*quotas, trial);
  for (core::NodeSpec& node : simulation.nodes) trial.set_node(std::move(node));
  if (simulation.live && !copy_live_cluster(s, simulation, trial))
    return api_error(503, "the device configuration has just changed, ask again");
  json::Writer w;
  w.begin_object().key("role").string(s.leader.leads() ? "leader" : "follower");
  w.key("nodes").integer(static_cast<std::int64_t>(trial.present_nodes().size()));
  w.key("pods").begin_array();
  for (const SimulatedPod& pod : simulation.pods)
    place_pod(w, simulation, pod, trial, s.clock.wall());
  w.end_array().end_object();
  return {.body = std::move(w).take()};
}

}  // namespace

void handle_simulate(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  auto body = std::make_shared<std::string>(std::move(request.body));
  s.side.post([&s, body, respond] {
    Simulation simulation;
    simulation.reader = s.live.get();
    json::Parser parser;
    const Result<json::Value> object = parser.parse(std::move(*body));
    if (!object) return respond(api_error(400, "not JSON: " + object.error().what));
    if (const Status status = read_pods(*object, simulation); !status)
      return respond(api_error(400, status.error().what));
    if (const Status status = read_nodes(*object, simulation); !status)
      return respond(api_error(400, status.error().what));
    if (simulation.live && !s.caches->filled())
      return respond(api_error(503, "not ready: " + s.caches->missing()));
    respond(simulate(s, simulation));
  });
}

}  // namespace tessera::service
