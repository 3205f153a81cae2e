// In a file of its own: a compiler that sees both the replacement and its callers takes malloc's
// memory for a mistake.
#include "heap_peak.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> held{0}, most{0};

void* ask(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) return nullptr;
  const auto bytes = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = held.fetch_add(bytes) + bytes;
  std::int64_t seen = most.load();
  while (seen < now && !most.compare_exchange_weak(seen, now)) {
  }
  return memory;
}

void give(void* memory) {
  if (memory != nullptr) held.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = ask(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return ask(size); }
// Not inlined: next to its caller the compiler takes free() for the wrong partner of new.
__attribute__((noinline)) void operator delete(void* memory) noexcept { give(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t /*size*/) noexcept {
  give(memory);
}

namespace tessera::test {

std::int64_t heap_bytes() { return held.load(); }
std::int64_t heap_peak() { return most.load(); }
void restart_heap_peak() { most.store(held.load()); }

}  // namespace tessera::test
