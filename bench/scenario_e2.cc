#include "scenario.h"

namespace tessera::bench {

Result<Report> run_e2(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "E2 is not built yet");
}

}  // namespace tessera::bench
