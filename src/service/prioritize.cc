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
  std::vector<std::int64_t> scores(names, 0);
  const std::vector<std::int64_t> of_fitting = core::extender_scores(keys);
  for (std::size_t i = 0; i < fitting.size(); ++i) scores[fitting[i]] = of_fitting[i];
  return scores;
}

/// Finds what was kept of a node; at once when nodes come in the order in which they were kept.
class KeptSearch {
 public:
  KeptSearch(const core::Cluster& cluster, const std::vector<KeptKeys::Entry>& kept)
      : cluster_(cluster), kept_(kept) {}

  /// Null: nothing was kept, or the node has changed since.
  const KeptKeys::Entry* find(std::string_view name) {
    const KeptKeys::Entry* entry = next_ < kept_.size() ? &kept_[next_] : nullptr;
    if (entry == nullptr || cluster_.node(entry->node).spec.name != name) entry = look_up(name);
    if (entry == nullptr) return nullptr;
    next_ = static_cast<std::size_t>(entry - kept_.data()) + 1;
    return cluster_.node(entry->node).version == entry->version ? entry : nullptr;
  }

 private:
  const KeptKeys::Entry* look_up(std::string_view name) {
    if (by_node_.empty()) {
      by_node_.resize(cluster_.node_count(), nullptr);
      for (const KeptKeys::Entry& entry : kept_) by_node_[entry.node.v] = &entry;
    }
    const NodeId node = cluster_.find_node(name);
    return node.valid() ? by_node_[node.v] : nullptr;
  }

  const core::Cluster& cluster_;
  const std::vector<KeptKeys::Entry>& kept_;
  std::vector<const KeptKeys::Entry*> by_node_;
  std::size_t next_ = 0;
};

}  // namespace

Prioritizer::Prioritizer(const LiveReader& live, const Books& books, const KeptKeys& kept_keys,
                         const Measures& measures, const Clock& clock, Options options)
    : live_(live),
      books_(books),
      kept_keys_(kept_keys),
      measures_(measures),
      clock_(clock),
      options_(options) {}

// ---- on the thread that received the call

bool Prioritizer::prepare(FilterCall& call, std::string body) {
  if (const Status read = read_call(call, live_, std::move(body)); !read)
    return refuse(call, read.error().what, 400), false;
  return !answer_at_once(call);
}

/// What no live state decides: pods that ask for no device, and machines that do not exist.
bool Prioritizer::answer_at_once(FilterCall& call) {
  const bool simulated = call.args.has_nodes && !options_.nodes_form_is_live;
  if (call.request.asks_devices() && !simulated) return false;
  const std::vector<std::string_view> names = candidate_names(call.args);
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
  call.answer(k8s::encode_host_priorities({}, {}));
}

void Prioritizer::send(FilterCall& call, const std::vector<std::string_view>& names,
                       const std::vector<std::int64_t>& scores) {
  std::string text = k8s::encode_host_priorities(names, scores);
  measures_.answered(Verb::kPrioritize, 200, time_taken(call));
  call.answer(std::move(text));
}

// ---- on the state thread

void Prioritizer::decide(FilterCall& call) {
  // The device configuration has changed since the call was read: read it again by the new one.
  if (call.reader != live_.get() && !prepare(call, std::exchange(call.body, {}))) return;
  const std::vector<std::string_view> names = candidate_names(call.args);
  if (const auto* kept = kept_keys_.of(call, books_); kept != nullptr)
    return send(call, names, scores_kept(call, *kept, names));
  const core::Outcome outcome =
      core::place(books_.cluster(), call.request, find_candidates(books_.cluster(), names),
                  {.keep_keys = true});
  send(call, names, spread_out(outcome.fitting, outcome.keys, names.size()));
}

/// What the filter call found of the nodes that have not changed since.
std::vector<std::int64_t> Prioritizer::scores_kept(
    const FilterCall& call, const std::vector<KeptKeys::Entry>& kept,
    const std::vector<std::string_view>& names) const {
  const core::Cluster& cluster = books_.cluster();
  KeptSearch search(cluster, kept);
  std::vector<std::uint32_t> fitting, changed;
  std::vector<core::NodeKey> keys;
  std::vector<NodeId> candidates;  // parallel to changed
  fitting.reserve(names.size());
  keys.reserve(names.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (const KeptKeys::Entry* entry = search.find(names[i]); entry != nullptr) {
      fitting.push_back(i);
      keys.push_back(entry->key);
    } else {
      changed.push_back(i);
      candidates.push_back(cluster.find_node(names[i]));
    }
  }
  const core::Outcome again = core::place(cluster, call.request, candidates, {.keep_keys = true});
  for (std::size_t i = 0; i < again.fitting.size(); ++i) {
    fitting.push_back(changed[again.fitting[i]]);
    keys.push_back(again.keys[i]);
  }
  return spread_out(fitting, keys, names.size());
}

}  // namespace tessera::service
