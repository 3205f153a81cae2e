#include "scenario.h"

namespace tessera::bench {

Result<Report> run_f3(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "F3 is not built yet");
}

}  // namespace tessera::bench
