#include "scenario.h"

namespace tessera::bench {

Result<Report> run_f4(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "F4 is not built yet");
}

}  // namespace tessera::bench
