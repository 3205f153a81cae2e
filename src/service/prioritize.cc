#include "service/prioritize.h"

#include <chrono>
#include <utility>

#include "core/extender_score.h"
#include "core/place.h"
#include "k8s/extender.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

/// Scores of those that fit, put back among all that were named; who does not fit gets 0.
std::vector<std::int64_t> spread_out(const std::vector<std::uint32_t>& fitting,
                                     const std::vector<core::NodeKey>& keys, std::size_t names) {
  std::vector<std::int64_t> of_fitting = core::extender_scores(keys);
  if (fitting.size() == names) return of_fitting;
  std::vector<std::int64_t> scores(names, 0);
  for (std::size_t i = 0; i < fitting.size(); ++i) scores[fitting[i]] = of_fitting[i];
  return scores;
}

}  // namespace

Prioritizer::Prioritizer(const LiveReader& live, Placer& placer, const Measures& measures,
                         const Clock& clock, Options options)
    : live_(live), placer_(placer), measures_(measures), clock_(clock), options_(options) {}

// ---- on the thread that received the call

bool Prioritizer::prepare(FilterCall& call, std::string body) {
  if (const Status read = read_call(call, live_, std::move(body), options_.nodes); !read)
    return refuse(call, read.error().what, 400), false;
  return !answer_at_once(call);
}

/// What no live state decides: pods that ask for no device, and machines that do not exist.
bool Prioritizer::answer_at_once(FilterCall& call) {
  const bool simulated = call.args.has_nodes && options_.nodes == NodesForm::kSimulate;
  if (call.request.asks_devices() && !simulated) return false;
  const std::vector<std::string_view>& names = call.args.names;
  core::Outcome outcome;
  if (call.request.asks_devices())
    outcome = place_simulated(call, options_.quotas, {.keep_keys = true});
  send(call, names, spread_out(outcome.fitting, outcome.keys, names.size()));
  return true;
}

double Prioritizer::time_taken(const FilterCall& call) const {
  return std::chrono::duration<double>(clock_.mono() - call.arrived).count();
}

void Prioritizer::refuse(FilterCall& call, std::string_view why, int code) {
  measures_.answered(Verb::kPrioritize, code, time_taken(call));
  log::warn("prioritize: no scores, kube-scheduler decides without them",
            {{"problem", std::string(why)}});
  call.answer_with(k8s::encode_host_priorities({}, {}));
}

void Prioritizer::send(FilterCall& call, const std::vector<std::string_view>& names,
                       const std::vector<std::int64_t>& scores) {
  k8s::write_host_priorities(names, scores, call.text);
  measures_.answered(Verb::kPrioritize, 200, time_taken(call));
  call.send_text();
}

// ---- on the state thread

void Prioritizer::decide(FilterCall& call) {
  // The device configuration has changed since the call was read: read it again by the new one.
  if (call.reader != live_.get() && !prepare(call, std::exchange(call.body, {}))) return;
  const std::vector<std::string_view>& names = call.args.names;
  placer_.read(names);
  const core::Outcome outcome = placer_.place(call.request, {.keep_keys = true});
  send(call, names, spread_out(outcome.fitting, outcome.keys, names.size()));
}

}  // namespace tessera::service
