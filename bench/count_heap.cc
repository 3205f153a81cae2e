// Preloaded into a measured program: counts what it asks the heap for, into the file that
// TESSERA_HEAP_COUNT names, which the bench has mapped too (heap_counter.h). Works with glibc.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

constinit Counter uncounted{0};
constinit std::atomic<Counter*> counter{&uncounted};

void count() { counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed); }

__attribute__((constructor)) void open_counter() {
  const char* path = std::getenv("TESSERA_HEAP_COUNT");
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) counter = static_cast<Counter*>(memory);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) noexcept {
  count();
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  count();
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  count();
  void* memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

}  // extern "C"
