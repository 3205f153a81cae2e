#include "service/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "service/filter_text.h"

namespace tessera::service {
namespace {

std::string_view kind_word(core::PositionKind kind) {
  if (kind == core::PositionKind::kInit) return "init";
  return kind == core::PositionKind::kSidecar ? "sidecar" : "app";
}

void write_head(json::Writer& w, const ExplainScene& scene, const ExplainSubject& subject) {
  w.begin_object().key("pod").begin_object();
  w.key("namespace").string(subject.ns).key("name").string(subject.name);
  w.key("uid").string(subject.uid).end_object();
  w.key("state").string(subject.state);
  w.key("role").string(scene.leader ? "leader" : "follower");
  w.key("warnings").begin_array();
  for (const std::string& warning : subject.warnings) w.string(warning);
  w.end_array();
}

void write_asks(json::Writer& w, const ExplainScene& scene, const core::Request& request) {
  w.key("asks").begin_array();
  for (std::size_t i = 0; i < request.positions.size(); ++i) {
    for (const core::DeviceAsk& ask : request.positions[i].asks) {
      w.begin_object().key("container").integer(static_cast<std::int64_t>(i));
      w.key("kind").string(kind_word(request.positions[i].kind));
      w.key("vendor").string(scene.reader.vendors().at(ask.vendor).word);
      w.key("count").integer(ask.count).key("memory").integer(ask.memory.v);
      if (ask.memory_percent != core::DeviceAsk::kNoPercent)
        w.key("memoryPercent").integer(ask.memory_percent);
      w.key("cores").integer(ask.cores.v).end_object();
    }
  }
  w.end_array();
}

/// Those that fit and those that do not each get a fair part of the room.
std::vector<NodeId> shown_nodes(const std::vector<NodeId>& all, const core::Outcome& outcome,
                                std::size_t limit) {
  const std::size_t fair = limit - limit / 2;
  const std::size_t rejected =
      std::min(outcome.rejected.size(),
               outcome.fitting.size() < fair ? limit - outcome.fitting.size() : limit / 2);
  std::vector<NodeId> shown;
  if (outcome.decision) shown.push_back(outcome.decision->node);
  for (const std::uint32_t index : outcome.fitting) {
    if (shown.size() + rejected >= limit) break;
    if (all[index] != outcome.decision->node) shown.push_back(all[index]);
  }
  for (const core::Outcome::Rejected& entry : outcome.rejected) {
    if (shown.size() >= limit) break;
    shown.push_back(all[entry.candidate]);
  }
  return shown;
}

void write_verdict(json::Writer& w, const ExplainScene& scene, const core::NodeVerdict& verdict) {
  w.begin_object().key("node").string(scene.cluster.node(verdict.node).spec.name);
  w.key("fits").boolean(verdict.fits).key("locked").boolean(verdict.locked);
  if (verdict.fits) {
    w.key("score").number(verdict.score);
  } else {
    w.key("reason").string(verdict.reject.text());
    w.key("words").string(core::main_reason(verdict.reject));
    w.key("unresolvable").boolean(verdict.reject.unresolvable());
  }
  w.key("cards").begin_array();
  for (const core::CardFigures& cards : verdict.cards) {
    w.begin_object().key("vendor").string(scene.reader.vendors().at(cards.vendor).word);
    w.key("cards").integer(cards.cards).key("eligible").integer(cards.eligible);
    w.key("freeMemory").integer(cards.free_memory.v).key("freeCores").integer(cards.free_cores.v);
    w.key("freeSlots").integer(cards.free_slots).end_object();
  }
  w.end_array().end_object();
}

void write_verdicts(json::Writer& w, const ExplainScene& scene, const core::Request& request,
                    const std::vector<NodeId>& all, const core::Outcome& outcome) {
  const std::vector<NodeId> shown = shown_nodes(all, outcome, scene.limit);
  core::Explanation explanation = core::explain(scene.cluster, request, shown, scene.options);
  std::stable_sort(explanation.nodes.begin(), explanation.nodes.end(),
                   [](const core::NodeVerdict& a, const core::NodeVerdict& b) {
                     return a.fits != b.fits ? a.fits : a.fits && a.key > b.key;
                   });
  w.key("nodes").begin_object().key("total").integer(static_cast<std::int64_t>(all.size()));
  w.key("fit").integer(static_cast<std::int64_t>(outcome.fitting.size()));
  w.key("shown").integer(static_cast<std::int64_t>(shown.size())).end_object();
  w.key("verdicts").begin_array();
  for (const core::NodeVerdict& verdict : explanation.nodes) write_verdict(w, scene, verdict);
  w.end_array();
}

}  // namespace

void write_annotations(json::Writer& w, const FactReader& reader,
                       const core::Allocation& allocation, WallTime now) {
  w.key("annotations").begin_object();
  for (const auto& [key, value] : reader.vendors().encode(allocation, now))
    w.key(key).string(value);
  w.end_object();
}

std::string explain_request(const ExplainScene& scene, const ExplainSubject& subject,
                            const core::Request& request) {
  const std::vector<NodeId> all = scene.cluster.present_nodes();
  const core::Outcome outcome = core::place(scene.cluster, request, all, scene.options);
  json::Writer w;
  write_head(w, scene, subject);
  write_asks(w, scene, request);
  w.key("decision");
  if (outcome.decision) {
    w.begin_object().key("node").string(scene.cluster.node(outcome.decision->node).spec.name);
    w.key("score").number(outcome.decision->score);
    write_annotations(w, scene.reader, outcome.decision->allocation, scene.now);
    w.end_object();
    w.key("sentence").string(fmt::format("{} of {} nodes fit", outcome.fitting.size(), all.size()));
  } else {
    w.null();
    w.key("sentence").string(pod_sentence(scene.cluster, request, outcome, all));
  }
  write_verdicts(w, scene, request, all, outcome);
  w.end_object();
  return std::move(w).take();
}

std::string explain_settled(const ExplainScene& scene, const ExplainSubject& subject,
                            std::string_view node, const core::Allocation* allocation,
                            std::string_view sentence) {
  json::Writer w;
  write_head(w, scene, subject);
  w.key("asks").begin_array().end_array().key("decision");
  if (node.empty()) {
    w.null();
  } else {
    w.begin_object().key("node").string(node).key("score").null();
    if (allocation != nullptr) write_annotations(w, scene.reader, *allocation, scene.now);
    w.end_object();
  }
  w.key("sentence").string(sentence);
  w.key("nodes").begin_object().key("total").integer(0).key("fit").integer(0);
  w.key("shown").integer(0).end_object().key("verdicts").begin_array().end_array().end_object();
  return std::move(w).take();
}

}  // namespace tessera::service
