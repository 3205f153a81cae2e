#include "service/preempt_verb.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/preempt.h"
#include "service/evictable.h"

namespace tessera::service {

PreemptVerb::PreemptVerb(const LiveReader& live, Books& books, const Budgets& budgets,
                         const Clock& clock, obs::Metrics& metrics)
    : live_(live), books_(books), budgets_(budgets), clock_(clock) {
  const auto time = [&metrics](const char* code) {
    return metrics.histogram(
        "tessera_extender_request_duration_seconds",
        "Time from the arrival of a call to its answer, by what the answer means.",
        obs::latency_bounds(), {{"verb", "preempt"}, {"code", code}});
  };
  good_ = time("200");
  bad_ = time("400");
  refused_ = time("500");
  const auto nodes = [&metrics](const char* result) {
    return metrics.counter("tessera_preempt_verb_nodes_total",
                           "Nodes of preempt calls, by what became of their victims.",
                           {{"result", result}});
  };
  kept_ = nodes("kept");
  completed_ = nodes("completed");
  left_out_ = nodes("left_out");
}

Result<core::Request> PreemptVerb::demand(const FactReader& reader, const k8s::Pod& pod) const {
  Result<vendors::Demand> demand = reader.vendors().demand(pod, reader.defaults());
  if (!demand) return tl::unexpected(demand.error());
  return std::move(demand->request);
}

Result<PreemptCall> PreemptVerb::prepare(const std::string& body) const {
  PreemptCall call;
  call.arrived = clock_.mono();
  call.reader = live_.get();
  json::Parser parser;
  Result<k8s::PreemptArgs> args = k8s::decode_preempt_args(parser, body, call.reader->keep());
  if (!args) return tl::unexpected(std::move(args.error()));
  call.args = std::move(*args);
  if (call.args.pod.ns.empty()) call.args.pod.ns = "default";
  Result<core::Request> request = demand(*call.reader, call.args.pod);
  if (!request) return tl::unexpected(std::move(request.error()));
  call.request = std::move(*request);
  return call;
}

void PreemptVerb::answered(int status, MonoTime arrived) const {
  const double seconds = std::chrono::duration<double>(clock_.mono() - arrived).count();
  (status == 200 ? good_ : status == 400 ? bad_ : refused_).observe(seconds);
}

std::string PreemptVerb::decide(const PreemptCall& call) {
  const k8s::Pod& pod = call.args.pod;
  core::Request request = call.request;
  if (const auto reader = live_.get(); call.reader != reader) {  // read by an older vendor table
    Result<core::Request> again = demand(*reader, pod);
    if (!again) return k8s::encode_preempt_result({});
    request = std::move(*again);
  }
  std::vector<k8s::VictimsOfNode> nodes;
  for (const k8s::VictimsOfNode& proposed : call.args.nodes) {
    k8s::VictimsOfNode victims = proposed;
    const bool helps = !request.asks_devices() || complete(request, pod, victims);
    if (!helps || victims.uids.empty()) {
      left_out_.increment();
      continue;
    }
    (victims.uids.size() > proposed.uids.size() ? completed_ : kept_).increment();
    nodes.push_back(std::move(victims));
  }
  return k8s::encode_preempt_result(nodes);
}

/// False: evicting would not help there.
bool PreemptVerb::complete(const core::Request& request, const k8s::Pod& pod,
                           k8s::VictimsOfNode& victims) {
  const NodeId node = books_.cluster().find_node(victims.node);
  if (!node.valid() || !books_.cluster().node(node).present) return false;
  const auto is_given = [&](const std::string& uid) {
    return std::find(victims.uids.begin(), victims.uids.end(), uid) != victims.uids.end();
  };
  EvictablePods evictable;
  if (!pod.never_preempts) {
    evictable =
        evictable_on(books_, budgets_, {&node, 1},
                     {.priority = pod.priority, .preemptor = pod.uid, .leave_out = is_given});
  }
  std::vector<PodUid> given;
  for (const std::string& uid : victims.uids) given.push_back({uid});
  const auto completed = core::complete_victims(books_.cluster(), request, node, given,
                                                evictable.pods, evictable.budgets);
  if (!completed) return false;
  for (const PodUid& uid : completed->more) victims.uids.push_back(uid.v);
  victims.budget_violations += completed->budget_violations;
  return true;
}

}  // namespace tessera::service
