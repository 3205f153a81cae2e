#include "label_priority/label_watch.h"

#include <utility>

#include "obs/log.h"
#include "policies/label_priority.h"

namespace tessera::label_priority {
namespace {

/// More than any cluster has nodes; names that come from nobody's cluster must not fill the memory.
constexpr std::size_t kMostRemembered = 20'000;

}  // namespace

LabelWatch::LabelWatch(std::string label, obs::Metrics& metrics)
    : label_(std::move(label)),
      problems_(metrics.counter(policies::kPriorityLabelProblems,
                                policies::kPriorityLabelProblemsHelp)) {}

void LabelWatch::see(std::string_view node, const std::string* value) {
  {
    const std::lock_guard guard(mutex_);
    if (value == nullptr) {
      if (!bad_.empty()) bad_.erase(std::string(node));
      return;
    }
    if (bad_.size() >= kMostRemembered) bad_.clear();
    std::string& told = bad_.try_emplace(std::string(node), "\x01").first->second;
    if (told == *value) return;
    told = *value;
  }
  problems_.increment();
  const auto problem = policies::read_label_priority(*value);
  log::warn("priority label of a node cannot be read",
            {{"node", node},
             {"label", label_},
             {"problem", problem ? std::string() : problem.error().what}});
}

}  // namespace tessera::label_priority
