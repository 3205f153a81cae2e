#include "setup/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/text.h"

namespace tessera::setup {

std::string_view word(Severity severity) {
  if (severity == Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "hint";
}

std::string Finding::text() const {
  std::string out;
  if (line > 0) out += fmt::format("line {}: ", line);
  out += fmt::format("{}: ", word(severity));
  if (!path.empty()) out += path + ": ";
  if (!value.empty()) out += text::quote(value) + ": ";
  out += what;
  if (!instead.empty()) out += ". Write: " + instead;
  return out;
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
}

void sort_findings(std::vector<Finding>& findings) {
  const auto key = [](const Finding& f) {
    return std::pair(f.line > 0 ? f.line : INT_MAX, f.severity);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
}

}  // namespace tessera::setup
