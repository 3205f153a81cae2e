#include "service/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "service/filter_text.h"
#include "service/names.h"

namespace tessera::service {
namespace {

EventTarget target_of(const k8s::Pod& pod) { return {"Pod", pod.ns, pod.name, pod.uid}; }

/// An empty one, in the form in which the nodes came.
k8s::FilterResult& begin_result(FilterCall& call) {
  call.result.clear();
  call.result.names_form = !call.args.has_nodes;
  return call.result;
}

/// Into call.result; `name_of(candidate)` is the node's name.
template <class NameOf>
void add_rejects(FilterCall& call, const core::Outcome& outcome, NameOf name_of) {
  call.rejects.clear();
  for (const core::Outcome::Rejected& rejected : outcome.rejected) {
    const RejectGroups::Group& group = call.rejects.add(rejected.reject);
    auto& list = group.unresolvable ? call.result.unresolvable : call.result.failed;
    list.emplace_back(name_of(rejected.candidate), group.text);
  }
}

}  // namespace

Filter::Filter(const LiveReader& live, Books& books, Placer& placer, Events& events,
               const Measures& measures, const Clock& clock, Options options)
    : live_(live),
      books_(books),
      placer_(placer),
      events_(events),
      measures_(measures),
      clock_(clock),
      options_(options) {}

// ---- on the thread that received the call

bool Filter::prepare(FilterCall& call, std::string body) {
  if (const Status read = read_call(call, live_, std::move(body), options_.nodes); !read)
    return refuse(call, read.error().what), false;
  call.phases.last = call.arrived;
  phase_ends(call, Phase::kRead);
  const bool asks = call.request.asks_devices();
  const bool simulates = call.args.has_nodes && options_.nodes == NodesForm::kSimulate;
  if (asks && simulates) return simulate(call), false;
  if (!asks) return pass_through(call), false;
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
  call.answer_with(k8s::encode_filter_error(error));
}

void Filter::phase_ends(FilterCall& call, Phase phase) {
  measures_.phase_ends(call.phases, phase, clock_.mono());
}

/// Sends call.result. `decided`: it went all the way, and its phases count. `names_stay`: they are
/// wanted afterwards.
void Filter::send(FilterCall& call, bool decided, bool names_stay) {
  const bool from_body = call.result_stays_in_body();
  if (!from_body) k8s::write_filter_result(call.result, call.text);
  if (decided) phase_ends(call, Phase::kEncode);
  measures_.answered(Verb::kFilter, 200, time_taken(call));
  if (from_body) {
    call.send_from_body();
  } else if (names_stay) {
    call.send_text_beside_body();
  } else {
    call.send_text();
  }
  if (decided) phase_ends(call, Phase::kSend);
}

void Filter::pass_through(FilterCall& call) {
  measures_.passed_through.increment();
  k8s::FilterResult& result = begin_result(call);
  result.failed_null = true;
  result.names = call.args.names;
  result.raw_nodes = call.args.raw_nodes;
  send(call);
}

void Filter::simulate(FilterCall& call) {
  measures_.simulated.increment();
  const core::Outcome outcome = place_simulated(call, options_.quotas);
  k8s::FilterResult& result = begin_result(call);
  result.null_result = outcome.fitting.empty();
  for (const std::uint32_t index : outcome.fitting)
    result.raw_nodes.push_back(call.args.raw_nodes[index]);
  add_rejects(call, outcome,
              [&](std::uint32_t i) { return std::string_view(call.args.nodes[i].name); });
  send(call);
}

// ---- on the state thread

void Filter::decide(FilterCall& call) {
  // The device configuration has changed since the call was read: read it again by the new one.
  if (call.reader != live_.get() && !prepare(call, std::exchange(call.body, {}))) return;
  phase_ends(call, Phase::kWait);
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
  const std::vector<std::string_view>& names = call.args.names;
  if (std::find(names.begin(), names.end(), node) == names.end()) {
    refuse(call,
           fmt::format("pod {}/{} is already bound to node {}, which is not among the candidates",
                       pod.ns, pod.name, node));
  } else {
    answer_node(call, node);
  }
  return true;
}

void Filter::answer_node(FilterCall& call, std::string_view node, bool decided) {
  k8s::FilterResult& result = begin_result(call);
  result.failed_null = true;
  if (result.names_form) result.names.push_back(node);
  for (std::size_t i = 0; i < call.args.nodes.size(); ++i) {
    if (call.args.nodes[i].name == node) result.raw_nodes.push_back(call.args.raw_nodes[i]);
  }
  send(call, decided);
}

void Filter::place(FilterCall& call) {
  const std::vector<std::string_view>& names = call.args.names;
  placer_.read(names);
  phase_ends(call, Phase::kNames);
  if (options_.scored) return place_scored(call, names);
  core::PlaceIndex::Choice choice =
      placer_.choose(call.request, {.prefer_unlocked = options_.prefer_unlocked});
  phase_ends(call, Phase::kDecide);
  if (!choice.decision) return answer_nowhere(call, placer_.place(call.request), names);
  if (hold(call, *choice.decision) == nullptr) return;
  answer_node(call, books_.cluster().node(choice.decision->node).spec.name, true);
  if (events_.enabled()) note_placed(placed_, books_.cluster(), choice, placer_.candidates());
  tell_placed(call.args.pod);
}

void Filter::place_scored(FilterCall& call, const std::vector<std::string_view>& names) {
  core::Outcome outcome =
      placer_.place(call.request, {.prefer_unlocked = options_.prefer_unlocked, .keep_keys = true});
  phase_ends(call, Phase::kDecide);
  if (!outcome.decision) return answer_nowhere(call, outcome, names);
  const PodRecord* record = hold(call, *outcome.decision);
  if (record == nullptr) return;
  answer_fitting(call, outcome, names);
  if (events_.enabled())
    note_scored(placed_, books_.cluster(), *record->request, outcome, placer_.candidates());
  tell_placed(call.args.pod);
}

/// Reserves the slices; null: it could not be done and the call was answered.
PodRecord* Filter::hold(FilterCall& call, core::Decision& decision) {
  const k8s::Pod& pod = call.args.pod;
  PodRecord& record = books_.note_pod(pod.ns, pod.name, pod.uid);
  const Status reserved = options_.scored
                              ? books_.reserve_tentatively(record, std::move(decision.allocation))
                              : books_.reserve(record, std::move(decision.allocation));
  if (!reserved) return fail_placing(call, reserved.error().what), nullptr;
  record.request = std::move(call.request);
  write_vendor_words(*record.request, call.reader->vendors(), vendor_words_);
  measures_.count_attempt(true, vendor_words_);
  phase_ends(call, Phase::kHold);
  return &record;
}

/// After the answer: what is told about it must not compete with it for a processor.
void Filter::tell_placed(const k8s::Pod& pod) {
  if (on_placed) on_placed(pod.uid);
  if (events_.enabled()) events_.write_placed(target_of(pod), "FilteringSucceed", placed_);
}

/// Scored mode: every node that fits, and why each of the others does not (D5).
void Filter::answer_fitting(FilterCall& call, const core::Outcome& outcome,
                            const std::vector<std::string_view>& names) {
  k8s::FilterResult& result = begin_result(call);
  for (const std::uint32_t index : outcome.fitting) {
    if (result.names_form) {
      result.names.push_back(names[index]);
    } else {
      result.raw_nodes.push_back(call.args.raw_nodes[index]);
    }
  }
  add_rejects(call, outcome, [&](std::uint32_t i) { return names[i]; });
  send(call, true);
}

void Filter::answer_nowhere(FilterCall& call, const core::Outcome& outcome,
                            const std::vector<std::string_view>& names) {
  const k8s::Pod& pod = call.args.pod;
  // on_nowhere may ask the placer for something else.
  const std::vector<NodeId> candidates = placer_.candidates();
  books_.end_reservation(pod.uid);
  k8s::FilterResult& result = begin_result(call);
  result.null_result = !names.empty();
  add_rejects(call, outcome, [&](std::uint32_t i) { return names[i]; });
  for (std::size_t i = 0; i < call.rejects.size(); ++i)
    measures_.count_reject(call.rejects.at(i).reject, call.rejects.at(i).nodes);
  write_vendor_words(call.request, call.reader->vendors(), vendor_words_);
  measures_.count_attempt(false, vendor_words_);
  phase_ends(call, Phase::kHold);
  send(call, true, true);
  if (on_refused) on_refused(pod.uid);
  if (events_.enabled())
    events_.write(target_of(pod), EventType::kWarning, "FilteringFailed",
                  nowhere_text(books_.cluster(), call.request, outcome, candidates,
                               {.names = names, .groups = call.rejects}));
  if (on_nowhere) on_nowhere(pod, call.request, outcome, candidates);
}

void Filter::fail_placing(FilterCall& call, const std::string& problem) {
  refuse(call, problem);
  events_.write(target_of(call.args.pod), EventType::kWarning, "FilteringFailed", problem);
}

}  // namespace tessera::service
