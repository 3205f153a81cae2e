#include "scenario.h"

namespace tessera::bench {

Result<Report> run_m1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "M1 is not built yet");
}

}  // namespace tessera::bench
