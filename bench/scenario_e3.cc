#include "scenario.h"

namespace tessera::bench {

Result<Report> run_e3(const ScenarioOptions& /*options*/) {
  return fail(Code::kUnavailable, "E3 is not built yet");
}

}  // namespace tessera::bench
