#include "label_priority/measures.h"

#include <string>

namespace tessera::label_priority {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Verb::kCount)> kVerbs = {
    "filter", "filter_onlyone", "prioritize", "bind"};
constexpr std::array<int, 3> kCodes = {200, 400, 500};

}  // namespace

Measures::Measures(obs::Metrics& metrics) {
  for (std::size_t verb = 0; verb < kVerbs.size(); ++verb) {
    for (std::size_t code = 0; code < kCodes.size(); ++code) {
      histograms_.at(verb).at(code) =
          metrics.histogram("tessera_extender_request_duration_seconds",
                            "Time from a call's arrival to its answer, by what the answer means.",
                            obs::latency_bounds(),
                            {{"verb", kVerbs.at(verb)}, {"code", std::to_string(kCodes.at(code))}});
    }
  }
}

void Measures::answered(Verb verb, int code, double seconds) const {
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (kCodes.at(i) == code) histograms_.at(static_cast<std::size_t>(verb)).at(i).observe(seconds);
  }
}

}  // namespace tessera::label_priority
