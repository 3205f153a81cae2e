#include "apps/memory.h"

#include <malloc.h>

#include <chrono>
#include <utility>

namespace tessera::apps {
namespace {

constexpr int kArenas = 2;
constexpr auto kLook = std::chrono::milliseconds(100);

}  // namespace

void limit_heap() {
  // An arena for each thread keeps apart what few threads allocate and others free: pods and nodes
  // are made on the API client's thread and end on the state thread. The calls themselves allocate
  // next to nothing, so there is no crowd at the two that are left.
  mallopt(M_ARENA_MAX, kArenas);
}

MemoryTrimmer::MemoryTrimmer(std::function<bool()> ready)
    : thread_([ready = std::move(ready)](const std::stop_token& stop) {
        while (!stop.stop_requested() && !ready()) std::this_thread::sleep_for(kLook);
        // What was read of the objects and dropped lies between what is kept.
        if (!stop.stop_requested()) malloc_trim(0);
      }) {}

}  // namespace tessera::apps
