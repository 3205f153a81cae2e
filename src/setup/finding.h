/// What a check says about a file, for people: where, what is written there, what happens in the
/// cluster because of it, and what to write instead. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::setup {

enum class Severity : std::uint8_t {
  kError,    ///< kube-scheduler refuses the file, or pods are not placed as they should be
  kWarning,  ///< it works, but worse than it could
  kHint      ///< worth knowing
};
std::string_view word(Severity severity);

struct Finding {
  Severity severity = Severity::kError;
  int line = 0;      ///< 1-based; 0 = no line, as of something that is missing
  std::string path;  ///< "extenders[0].prioritizeVerb"; "" = the file as a whole
  std::string value;
  std::string what;     ///< what happens
  std::string instead;  ///< what to write; may be empty
  /// `line 7: error: extenders[0].bindVerb: "bnd": … Write: bindVerb: bind`
  std::string text() const;
};

bool has_errors(const std::vector<Finding>& findings);
/// By line, then by severity; what has no line comes last.
void sort_findings(std::vector<Finding>& findings);

}  // namespace tessera::setup
