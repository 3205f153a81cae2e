#include "label_priority/call.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace tessera::label_priority {
namespace {

constexpr std::string_view kNoNodes = "nodes is nil in extender args";

std::string line(std::string json) {
  json += '\n';
  return json;
}

}  // namespace

std::string filter_error(std::string_view error) { return line(k8s::encode_filter_error(error)); }

Result<std::unique_ptr<Call>> Call::read(std::string body, const Rules& rules) {
  std::unique_ptr<Call> call(new Call(rules));
  auto args =
      k8s::decode_candidates(call->parser_, std::move(body), call->body_, keep_only(rules.label));
  if (!args) return tl::unexpected(args.error());
  call->args_ = std::move(*args);
  for (const k8s::Node& node : call->args_.nodes) {
    call->candidates_.push_back({node.name, read_label(k8s::find(node.labels, rules.label))});
  }
  return call;
}

void Call::look_up(const std::function<NodeLabel(std::string_view name)>& label_of) {
  candidates_.clear();
  for (const std::string_view name : args_.names) candidates_.push_back({name, label_of(name)});
}

void Call::each_label(
    const std::function<void(std::string_view name, const std::string* bad_value)>& f) const {
  for (std::size_t i = 0; i < args_.nodes.size(); ++i) {
    const bool bad = candidates_[i].label.state == LabelState::kInvalid;
    f(candidates_[i].name, bad ? k8s::find(args_.nodes[i].labels, rules_.label) : nullptr);
  }
}

k8s::FilterResult Call::empty_result() const {
  k8s::FilterResult result;
  result.names_form = !args_.has_nodes;
  result.names_too = true;
  result.failed_null = true;
  return result;
}

void Call::keep(std::size_t i, k8s::FilterResult& result) const {
  result.names.push_back(candidates_[i].name);
  if (args_.has_nodes) result.raw_nodes.push_back(args_.raw_nodes[i]);
}

/// No eviction gives a node a label. A node that is not known yet may have one a moment later.
void Call::drop_failing(std::size_t i, k8s::FilterResult& result) const {
  const std::string_view name = candidates_[i].name;
  if (candidates_[i].label.state == LabelState::kUnknownNode) {
    result.failed.emplace_back(name, "node is not known yet");
  } else {
    result.unresolvable.emplace_back(name, no_label_);
  }
}

std::string Call::nothing_fits() const {
  return filter_error(fmt::format("all node do not have label {}", rules_.label));
}

std::string Call::filter() const {
  if (nameless()) return filter_error(kNoNodes);
  k8s::FilterResult result = empty_result();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (passes(candidates_[i], rules_)) {
      keep(i, result);
    } else if (!rules_.compat) {
      drop_failing(i, result);
    }
  }
  if (rules_.compat && result.names.empty()) return nothing_fits();
  result.failed_null = result.failed.empty();
  return line(k8s::encode_filter_result(result));
}

std::string Call::filter_only_one() const {
  if (nameless()) return filter_error(kNoNodes);
  const std::optional<std::size_t> best = best_of(candidates_, rules_);
  if (!best && rules_.compat) return nothing_fits();
  k8s::FilterResult result = empty_result();
  if (best) keep(*best, result);
  for (std::size_t i = 0; i < candidates_.size() && !rules_.compat; ++i) {
    if (i == best) continue;
    if (passes(candidates_[i], rules_)) {
      // Asked about that node alone, as after an eviction there, the answer would be yes.
      result.failed.emplace_back(candidates_[i].name, another_preferred_);
    } else {
      drop_failing(i, result);
    }
  }
  result.failed_null = result.failed.empty();
  return line(k8s::encode_filter_result(result));
}

std::string Call::prioritize() const {
  if (nameless()) return std::string(kNoScores);
  std::vector<std::string_view> hosts;
  std::vector<std::int64_t> scores;
  for (const Scored& scored : scores_of(candidates_, rules_)) {
    hosts.push_back(candidates_[scored.candidate].name);
    scores.push_back(scored.score);
  }
  return line(k8s::encode_host_priorities(hosts, scores));
}

}  // namespace tessera::label_priority
