#include "scenario.h"

namespace tessera::bench {

Result<Report> run_w1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "W1 is not built yet");
}

}  // namespace tessera::bench
