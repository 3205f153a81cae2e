#include "scenario.h"

namespace tessera::bench {

Result<Report> run_f2(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "F2 is not built yet");
}

}  // namespace tessera::bench
