/// The operator's own order of nodes: a whole number in a label, larger is better. The one place
/// that knows the label and how its value is read; the node policy "label-priority" and the
/// stand-alone extender `tessera label-priority` both use it. Source:
/// spec/label-priority-extender.md section 3. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tessera::policies {

inline constexpr std::string_view kPriorityLabel = "priority.lixueduan.com";

/// Counted once per change of a node, by whoever reads nodes.
inline constexpr const char* kPriorityLabelProblems = "tessera_priority_label_problems_total";
inline constexpr const char* kPriorityLabelProblemsHelp =
    "Priority labels of nodes whose value is no whole number; they count as 0.";

/// Whether Kubernetes takes it for the key of a label; the error shows it.
Status check_label_key(std::string_view key);

/// A decimal integer with an optional leading sign, no blanks, inside int64. Anything else is an
/// error that shows the value; the node then counts as if it said 0.
Result<std::int64_t> read_label_priority(std::string_view value);

}  // namespace tessera::policies
