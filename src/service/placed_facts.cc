#include "service/placed_facts.h"

#include <fmt/format.h>

namespace tessera::service {
namespace {

std::string fitting_nodes(const PlacedFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.named_count; ++i) {
    const bool last = i + 1 == facts.named_count;
    if (last && facts.named_count < facts.fitting) text += i == 0 ? "…" : ",…";
    if (!text.empty()) text += ',';
    text += fmt::format("{}:{:.2f}", facts.named[i].node, facts.named[i].score);
  }
  return text;
}

}  // namespace

std::string placed_text(const PlacedFacts& facts) {
  if (facts.named_count == 0) return {};
  const std::string& chosen = facts.named[facts.named_count - 1].node;
  const std::string fitting = fitting_nodes(facts);
  if (facts.all_answered) {
    return fmt::format(
        "{} nodes fit({}), {} nodes not fit; kube-scheduler chooses among them, {} is held "
        "meanwhile",
        facts.fitting, fitting, facts.rejected, chosen);
  }
  return fmt::format("find fit node({}), {} nodes not fit, {} nodes fit({})", chosen,
                     facts.rejected, facts.fitting, fitting);
}

}  // namespace tessera::service
