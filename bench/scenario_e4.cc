#include "scenario.h"

namespace tessera::bench {

Result<Report> run_e4(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "E4 is not built yet");
}

}  // namespace tessera::bench
