#include "scenario.h"

namespace tessera::bench {

Result<Report> run_s1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "S1 is not built yet");
}

}  // namespace tessera::bench
