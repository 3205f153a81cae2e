#include "filter_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/reader.h"
#include "stage.h"
#include "vendors/codec.h"

namespace tessera::bench {
namespace {

Status wrong(const FilterStage::Call& call, const std::string& what) {
  return fail(Code::kInternal, fmt::format("WRONG ANSWER for pod {}: {}", call.name, what));
}

}  // namespace

Result<FilterJudge> FilterJudge::make(const FilterStage& stage,
                                      const std::optional<sim::ScenarioPod>& sample) {
  auto oracle = PlainOracle::make(stage.cluster());
  if (!oracle) return tl::unexpected(oracle.error());
  FilterJudge judge(stage, std::move(*oracle));
  if (!sample) return judge;
  auto verdict = judge.oracle_.decide(stage.cluster().asking_pod_json(*sample));
  if (!verdict) return tl::unexpected(verdict.error());
  judge.by_node_ = std::move(*verdict);
  return judge;
}

bool FilterJudge::fits(std::int64_t node, const sim::SyntheticShare& share) const {
  if (by_node_) return by_node_->reasons[static_cast<std::size_t>(node)].empty();
  return stage_->cluster().has_room(node, share);
}

Status FilterJudge::look(const FilterStage::Call& call, const FilterVerdict& verdict,
                         const sim::SyntheticShare& share) const {
  const std::int64_t nodes = stage_->nodes();
  if (verdict.named > 1) return wrong(call, fmt::format("it names {} nodes", verdict.named));
  if (verdict.named == 1) {
    if (!call.nodes.names(verdict.node, nodes))
      return wrong(call, fmt::format("node {} was not asked", verdict.node));
    if (!verdict.error.empty()) return wrong(call, "a node and an error: " + verdict.error);
    if (!fits(verdict.node, share))
      return wrong(call, fmt::format("node {} has no room", verdict.node));
    return {};
  }
  if (!verdict.error.empty() && verdict.refused.empty())
    return wrong(call, "no node and no reasons, but the error " + verdict.error);
  std::vector<bool> told(static_cast<std::size_t>(nodes), false);
  for (const auto& [node, reason] : verdict.refused) {
    if (!call.nodes.names(node, nodes) || reason.empty())
      return wrong(call, fmt::format("refusal of node {}: '{}'", node, reason));
    told[static_cast<std::size_t>(node)] = true;
  }
  for (std::int64_t n = 0; n < nodes; ++n) {
    if (!call.nodes.names(n, nodes)) continue;
    if (fits(n, share)) return wrong(call, fmt::format("refused, but node {} has room", n));
    if (!told[static_cast<std::size_t>(n)])
      return wrong(call, fmt::format("refused without a reason for node {}", n));
  }
  return {};
}

Status FilterJudge::look_all(const FilterStage::Call& call, const FilterVerdict& verdict,
                             const sim::SyntheticShare& share, bool complete) const {
  if (!verdict.error.empty()) return wrong(call, verdict.error);
  std::vector<bool> named(static_cast<std::size_t>(stage_->nodes()), false);
  for (const std::int64_t n : verdict.all_named) {
    if (!call.nodes.names(n, stage_->nodes()))
      return wrong(call, fmt::format("node {} was not asked", n));
    if (!fits(n, share)) return wrong(call, fmt::format("node {} has no room", n));
    named[static_cast<std::size_t>(n)] = true;
  }
  for (std::int64_t n = 0; complete && n < stage_->nodes(); ++n) {
    if (call.nodes.names(n, stage_->nodes()) && fits(n, share) &&
        !named[static_cast<std::size_t>(n)])
      return wrong(call, fmt::format("node {} has room and is not named", n));
  }
  if (verdict.named > 0) return {};
  return look(call, verdict, share);
}

Result<std::string> FilterJudge::difference(const FilterStage::Call& call,
                                            const FilterVerdict& verdict) const {
  std::vector<bool> left_out(static_cast<std::size_t>(stage_->nodes()));
  for (std::int64_t n = 0; n < stage_->nodes(); ++n)
    left_out[static_cast<std::size_t>(n)] = !call.nodes.names(n, stage_->nodes());
  const auto right = oracle_.decide(call.object, left_out);
  if (!right) return tl::unexpected(right.error());
  if (verdict.node != right->node)
    return fmt::format("node {} ({}), the plain decision takes {}", verdict.node,
                       verdict.error.empty() ? "no error" : verdict.error, right->node);
  if (right->node >= 0) return std::string();
  for (const auto& [node, reason] : verdict.refused) {
    const std::string& plain = right->reasons[static_cast<std::size_t>(node)];
    if (reason != plain)
      return fmt::format("node {} is refused for '{}', the plain decision says '{}'", node, reason,
                         plain);
  }
  return std::string();
}

std::int64_t FilterJudge::load_of(std::int64_t node) const {
  std::int64_t used = 0, all = 0;
  for (const auto& usage : stage_->cluster().used_of(node)) used += usage.memory.v;
  for (const auto& card : stage_->cluster().cards_of(node)) all += card.memory.v;
  return all == 0 ? 0 : used * 1000 / all;
}

Status check_bound(FilterStage& stage, LoadClient& client, const FilterStage::Call& call,
                   std::int64_t node, const sim::SyntheticShare& share) {
  const std::string name = stage.cluster().node_name(node);
  const auto bound = client.exchange(
      post("/bind",
           fmt::format(R"({{"PodName":"{}","PodNamespace":"default","PodUID":"{}","Node":"{}"}})",
                       call.name, call.uid, name)));
  if (!bound) return tl::unexpected(bound.error());
  json::Parser parser;
  const auto answer = parser.parse(std::string_view(bound->body));
  if (!answer || !(*answer)["Error"].string_or("?").empty())
    return fail(Code::kInternal, "bind: " + bound->body);
  const auto object = stage.api().request("GET", fmt::format("{}/{}", kPods, call.name));
  const auto pod = parser.parse(std::string_view(object.body));
  if (!pod) return tl::unexpected(pod.error());
  const auto held = vendors::decode_pod_devices(
      (*pod)["metadata"]["annotations"]["hami.io/vgpu-devices-allocated"].string_or(""));
  if (!held) return tl::unexpected(held.error());
  const auto cards = stage.cluster().cards_of(node);
  const auto used = stage.cluster().used_of(node);
  std::int64_t found = 0;
  for (const auto& position : *held) {
    for (const auto& device : position) {
      const auto card = std::find_if(cards.begin(), cards.end(),
                                     [&](const core::Device& c) { return c.id == device.id; });
      if (card == cards.end()) return wrong(call, device.id + " is not on " + name);
      const auto& taken = used[static_cast<std::size_t>(card - cards.begin())];
      if (device.memory != share.memory || device.cores != share.cores)
        return wrong(call, fmt::format("it was given {} MiB and {} cores of {}", device.memory,
                                       device.cores, device.id));
      if (taken.memory.v + device.memory > card->memory.v ||
          taken.cores.v + device.cores > card->cores.v || taken.slots >= card->slots)
        return wrong(call, device.id + " is over its limits");
      ++found;
    }
  }
  if (found != share.cards) return wrong(call, fmt::format("{} cards were given", found));
  return stage.change("PATCH", "/api/v1/nodes/" + name,
                      R"({"metadata":{"annotations":{"hami.io/mutex.lock":null}}})");
}

}  // namespace tessera::bench
