#include "scenario.h"

namespace tessera::bench {

Result<Report> run_q1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "Q1 is not built yet");
}

}  // namespace tessera::bench
