/// What the extender counts of its calls. Thread rule: any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "obs/metrics.h"

namespace tessera::label_priority {

enum class Verb : std::uint8_t { kFilter, kFilterOnlyOne, kPrioritize, kBind, kCount };

class Measures {
 public:
  explicit Measures(obs::Metrics& metrics);
  /// `code` is what the answer means, HTTP says 200 always: 200, 400 unreadable, 500 an Error.
  void answered(Verb verb, int code, double seconds) const;

 private:
  std::array<std::array<obs::Histogram, 3>, static_cast<std::size_t>(Verb::kCount)> histograms_;
};

}  // namespace tessera::label_priority
