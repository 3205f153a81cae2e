#include "base/step_back.h"

#include <sched.h>
#include <sys/resource.h>

namespace tessera {

void step_back() {
  constexpr int kNicest = 19;
  const sched_param none{};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) setpriority(PRIO_PROCESS, 0, kNicest);
}

}  // namespace tessera
