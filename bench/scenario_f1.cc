#include "scenario.h"

namespace tessera::bench {

Result<Report> run_f1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "F1 is not built yet");
}

}  // namespace tessera::bench
