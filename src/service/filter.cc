#include "service/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "obs/log.h"
#include "service/filter_text.h"
#include "service/names.h"
#include "service/trial.h"

namespace tessera::service {
namespace {

constexpr std::size_t kPooledCalls = 16;
constexpr std::size_t kLargestPooledBody =
    1U << 20;  // node lists in full are rare and large: do not keep their memory

EventTarget target_of(const k8s::Pod& pod) { return {"Pod", pod.ns, pod.name, pod.uid}; }

std::vector<std::string_view> candidate_names(const k8s::ExtenderArgs& args) {
  if (!args.has_nodes) return args.names;
  std::vector<std::string_view> names;
  names.reserve(args.nodes.size());
  for (const k8s::Node& node : args.nodes) names.emplace_back(node.name);
  return names;
}

void add_reject(k8s::FilterResult& result, std::string_view node, const core::Reject& reject) {
  auto& map = reject.unresolvable() ? result.unresolvable : result.failed;
  map.emplace_back(node, reject.text());
}

}  // namespace

std::unique_ptr<FilterCall> FilterCallPool::take() {
  const std::lock_guard guard(mutex_);
  if (free_.empty()) return std::make_unique<FilterCall>();
  std::unique_ptr<FilterCall> call = std::move(free_.back());
  free_.pop_back();
  return call;
}

void FilterCallPool::give_back(std::unique_ptr<FilterCall> call) {
  call->args = {};
  call->reader.reset();
  call->request = {};
  call->answer = nullptr;
  call->client_gone.reset();
  if (call->body.capacity() > kLargestPooledBody) return;
  const std::lock_guard guard(mutex_);
  if (free_.size() < kPooledCalls) free_.push_back(std::move(call));
}

Filter::Filter(const LiveReader& live, Books& books, Events& events, const Measures& measures,
               const Clock& clock, Options options)
    : live_(live),
      books_(books),
      events_(events),
      measures_(measures),
      clock_(clock),
      options_(options) {}

// ---- on the thread that received the call

bool Filter::prepare(FilterCall& call, std::string body) {
  call.reader = live_.get();
  const FactReader& reader = *call.reader;
  Result<k8s::ExtenderArgs> args =
      k8s::decode_extender_args(call.parser, std::move(body), call.body, reader.keep());
  if (!args) return refuse(call, args.error().what), false;
  call.args = std::move(*args);
  if (call.args.pod.ns.empty()) call.args.pod.ns = "default";
  if (call.args.has_nodes) {
    // Node lists are large, and from here on only their received text is needed: the parser's own
    // memory goes now (D20).
    call.args.names.clear();
    call.parser = json::Parser();
  }
  if (!call.args.has_names && !call.args.has_nodes) {
    return refuse(call, "extender args name no nodes: NodeNames and Nodes are both null"), false;
  }
  Result<vendors::Demand> demand = reader.vendors().demand(call.args.pod, reader.defaults());
  if (!demand) return refuse(call, demand.error().what), false;
  for (const std::string& warning : demand->warnings) {
    log::debug("filter",
               {{"pod", call.args.pod.ns + "/" + call.args.pod.name}, {"warning", warning}});
  }
  call.request = std::move(demand->request);
  if (!call.request.asks_devices()) return pass_through(call), false;
  if (call.args.has_nodes && !options_.nodes_form_is_live) return simulate(call), false;
  if (call.args.pod.uid.empty())
    return refuse(call, "extender args: Pod.metadata.uid is empty"), false;
  if (!is_object_name(call.args.pod.ns) || !is_object_name(call.args.pod.name)) {
    return refuse(call,
                  fmt::format("extender args: Pod {}/{} has no proper name",
                              text::quote(call.args.pod.ns), text::quote(call.args.pod.name))),
           false;
  }
  return true;
}

double Filter::time_taken(const FilterCall& call) const {
  return std::chrono::duration<double>(clock_.mono() - call.arrived).count();
}

void Filter::refuse(FilterCall& call, std::string_view error) {
  measures_.filter_errors.increment();
  measures_.answered(Verb::kFilter, 500, time_taken(call));
  call.answer(k8s::encode_filter_error(error));
}

void Filter::send(FilterCall& call, const k8s::FilterResult& result) {
  std::string text = k8s::encode_filter_result(result);
  measures_.answered(Verb::kFilter, 200, time_taken(call));
  call.answer(std::move(text));
}

void Filter::pass_through(FilterCall& call) {
  measures_.passed_through.increment();
  send(call, {.names_form = !call.args.has_nodes,
              .names = call.args.names,
              .raw_nodes = call.args.raw_nodes,
              .failed_null = true});
}

/// The nodes as received, empty, and nothing of the live state but what the namespace's quotas
/// leave: what an autoscaler asks about machines that do not exist yet.
void Filter::simulate(FilterCall& call) {
  measures_.simulated.increment();
  const vendors::Vendors& vendors = call.reader->vendors();
  core::Cluster cluster(vendors.rules());
  const auto quotas = options_.quotas == nullptr ? nullptr : options_.quotas->get();
  if (quotas != nullptr) copy_quotas_left(*quotas, cluster, call.args.pod.ns);
  std::vector<NodeId> candidates;
  candidates.reserve(call.args.nodes.size());
  for (const k8s::Node& node : call.args.nodes) {
    core::NodeSpec spec = vendors.read_node(node).spec;
    spec.name = node.name;
    candidates.push_back(spec.devices.empty() ? NodeId{} : cluster.set_node(std::move(spec)));
  }
  const core::Outcome outcome = core::place(cluster, call.request, candidates);
  k8s::FilterResult result{.names_form = false, .null_result = outcome.fitting.empty()};
  for (const std::uint32_t index : outcome.fitting)
    result.raw_nodes.push_back(call.args.raw_nodes[index]);
  for (const core::Outcome::Rejected& rejected : outcome.rejected) {
    add_reject(result, call.args.nodes[rejected.candidate].name, rejected.reject);
  }
  send(call, result);
}

// ---- on the state thread

void Filter::decide(FilterCall& call) {
  // The device configuration has changed since the call was read: read it again by the new one.
  if (call.reader != live_.get() && !prepare(call, std::exchange(call.body, {}))) return;
  const k8s::Pod& pod = call.args.pod;
  if (books_.deleted_recently(pod.uid))
    return refuse(call,
                  fmt::format("pod {}/{} with UID {} was deleted", pod.ns, pod.name, pod.uid));
  if (answer_known(call)) return;
  place(call);
}

/// A pod that is bound, or whose Binding is under way, is not decided again (S-14).
bool Filter::answer_known(FilterCall& call) {
  const k8s::Pod& pod = call.args.pod;
  const PodRecord* record = books_.pod(pod.uid);
  std::string node = pod.node_name;
  if (record != nullptr && !record->fact.node.empty()) node = record->fact.node;
  if (record != nullptr && node.empty() && record->stage == BindStage::kActive)
    node = record->bind_node;
  if (node.empty()) return false;
  const std::vector<std::string_view> names = candidate_names(call.args);
  if (std::find(names.begin(), names.end(), node) == names.end()) {
    refuse(call,
           fmt::format("pod {}/{} is already bound to node {}, which is not among the candidates",
                       pod.ns, pod.name, node));
  } else {
    answer_node(call, node);
  }
  return true;
}

void Filter::answer_node(FilterCall& call, std::string_view node) {
  k8s::FilterResult result{.names_form = !call.args.has_nodes, .failed_null = true};
  if (!call.args.has_nodes) {
    result.names.push_back(node);
    return send(call, result);
  }
  for (std::size_t i = 0; i < call.args.nodes.size(); ++i) {
    if (call.args.nodes[i].name == node) result.raw_nodes.push_back(call.args.raw_nodes[i]);
  }
  send(call, result);
}

void Filter::place(FilterCall& call) {
  const std::vector<std::string_view> names = candidate_names(call.args);
  std::vector<NodeId> candidates;
  candidates.reserve(names.size());
  for (const std::string_view name : names) candidates.push_back(books_.cluster().find_node(name));
  const core::Outcome outcome = core::place(books_.cluster(), call.request, candidates,
                                            {.prefer_unlocked = options_.prefer_unlocked});
  if (outcome.decision) return answer_placed(call, outcome, candidates);
  answer_nowhere(call, outcome, names, candidates);
}

void Filter::answer_placed(FilterCall& call, const core::Outcome& outcome,
                           const std::vector<NodeId>& candidates) {
  const k8s::Pod& pod = call.args.pod;
  const core::Decision& decision = *outcome.decision;
  PodRecord& record = books_.note_pod(pod.ns, pod.name, pod.uid);
  const Status reserved = books_.reserve(record, decision.allocation);
  if (!reserved) return fail_placing(call, reserved.error().what);
  record.request = std::move(call.request);
  const std::string node = books_.cluster().node(decision.node).spec.name;
  measures_.count_attempt(true, vendor_words(*record.request, call.reader->vendors()));
  answer_node(call, node);
  if (on_placed) on_placed(pod.uid);
  events_.write(target_of(pod), EventType::kNormal, "FilteringSucceed",
                placed_text(books_.cluster(), *record.request, outcome, candidates));
}

void Filter::answer_nowhere(FilterCall& call, const core::Outcome& outcome,
                            const std::vector<std::string_view>& names,
                            const std::vector<NodeId>& candidates) {
  const k8s::Pod& pod = call.args.pod;
  books_.end_reservation(pod.uid);
  k8s::FilterResult result{.names_form = !call.args.has_nodes, .null_result = !names.empty()};
  for (const core::Outcome::Rejected& rejected : outcome.rejected) {
    add_reject(result, names[rejected.candidate], rejected.reject);
    measures_.count_reject(rejected.reject);
  }
  measures_.count_attempt(false, vendor_words(call.request, call.reader->vendors()));
  send(call, result);
  std::vector<std::pair<std::string, std::string>> texts = std::move(result.failed);
  texts.insert(texts.end(), std::make_move_iterator(result.unresolvable.begin()),
               std::make_move_iterator(result.unresolvable.end()));
  if (on_refused) on_refused(pod.uid);
  events_.write(target_of(pod), EventType::kWarning, "FilteringFailed",
                nowhere_text(books_.cluster(), call.request, outcome, candidates, texts));
  if (on_nowhere) on_nowhere(pod, call.request, outcome, candidates);
}

void Filter::fail_placing(FilterCall& call, const std::string& problem) {
  refuse(call, problem);
  events_.write(target_of(call.args.pod), EventType::kWarning, "FilteringFailed", problem);
}

}  // namespace tessera::service
