/// The few words of quota that pods carry with them. Source: spec/decisions.md D8.
/// Thread rule: plain values.
#pragma once

#include <string>

namespace tessera::core {

/// What decides which quota objects a pod falls under.
struct QuotaSubject {
  std::string ns;
  bool terminating = false;  ///< has an activeDeadlineSeconds
  bool best_effort = false;  ///< quality of service class
  std::string priority_class;
  friend bool operator==(const QuotaSubject&, const QuotaSubject&) = default;
};

}  // namespace tessera::core
