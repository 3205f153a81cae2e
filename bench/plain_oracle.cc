#include "plain_oracle.h"

#include <fmt/format.h>

#include <utility>

#include "core/place.h"
#include "json/reader.h"
#include "service/serve_check.h"

namespace tessera::bench {

Result<PlainOracle> PlainOracle::make(const sim::SyntheticCluster& cluster) {
  auto plan = service::check_options(sim::scenario_options(cluster.setting()));
  if (!plan) return tl::unexpected(plan.error());
  service::FactReader reader(std::make_shared<const vendors::Vendors>(std::move(plan->vendors)),
                             plan->defaults);
  core::Cluster books(reader.vendors().rules());
  PlainOracle oracle(std::move(reader), std::move(books));
  if (auto status = oracle.read(cluster); !status) return tl::unexpected(status.error());
  return oracle;
}

Status PlainOracle::read(const sim::SyntheticCluster& cluster) {
  json::Parser parser;
  const std::int64_t nodes = cluster.options().nodes;
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::string text = cluster.node_json(n);
    const auto value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    auto fact = reader_.read_node(*value);
    if (!fact) return tl::unexpected(fact.error());
    if (!fact->problems.empty()) return fail(Code::kInvalid, fact->problems.front());
    cluster_.set_node(std::move(fact->spec));
  }
  for (std::int64_t i = 0; i < cluster.options().device_pods; ++i) {
    const std::string text = cluster.device_pod_json(i);
    const auto value = parser.parse(std::string_view(text));
    if (!value) return tl::unexpected(value.error());
    auto fact = reader_.read_pod(*value);
    if (!fact) return tl::unexpected(fact.error());
    if (!fact->allocation)
      return fail(Code::kInternal, fmt::format("pod {} holds nothing: {}", i, fact->problem));
    cluster_.confirm({fact->uid}, std::move(*fact->allocation));
  }
  for (std::int64_t n = 0; n < nodes; ++n)
    nodes_.push_back(cluster_.find_node(cluster.node_name(n)));
  return {};
}

Result<PlainOracle::Verdict> PlainOracle::decide(const std::string& pod_json,
                                                 std::vector<bool> left_out) const {
  json::Parser parser;
  const auto value = parser.parse(std::string_view(pod_json));
  if (!value) return tl::unexpected(value.error());
  const auto fact = reader_.read_pod(*value);
  if (!fact) return tl::unexpected(fact.error());
  if (!fact->request)
    return fail(Code::kInternal, "the pod that asks wants no devices: " + fact->problem);
  left_out.resize(nodes_.size(), false);
  std::vector<NodeId> candidates;
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (left_out[n]) continue;
    candidates.push_back(nodes_[n]);
    places.push_back(n);
  }
  const core::Outcome outcome = core::place_oracle(cluster_, *fact->request, candidates);
  Verdict verdict;
  verdict.fitting = static_cast<std::int64_t>(outcome.fitting.size());
  verdict.reasons.resize(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (left_out[n]) verdict.reasons[n] = "not asked";
  for (const auto& refused : outcome.rejected)
    verdict.reasons[places[refused.candidate]] = refused.reject.text();
  if (!outcome.decision) return verdict;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n] == outcome.decision->node) verdict.node = static_cast<std::int64_t>(n);
  return verdict;
}

}  // namespace tessera::bench
