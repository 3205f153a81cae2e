#include "base/free_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tessera {
namespace {

constexpr int kMappedAlone = 4 << 20;  // blocks from here on

}  // namespace

void map_large_blocks() {
#ifdef __GLIBC__
  // One is as good as none without the other: setting either ends the automatism for both.
  mallopt(M_MMAP_THRESHOLD, kMappedAlone);
  mallopt(M_TRIM_THRESHOLD, kMappedAlone);
#endif
}

void limit_arenas() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 2);
#endif
}

void prefer_large_pages(void* at, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  // The wish stays with the addresses until they are unmapped: in the middle of the heap the system
  // would fill up what return_free_memory() has given back.
  if (bytes < kMappedAlone) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(at) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(at) + bytes) / page * page;
  // Where the system has none to give, small ones do.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace tessera
