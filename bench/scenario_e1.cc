#include "scenario.h"

namespace tessera::bench {

Result<Report> run_e1(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "E1 is not built yet");
}

}  // namespace tessera::bench
