// In a file of its own: a compiler that sees both the replacement and its callers takes malloc's
// memory for a mistake.
#include "heap_by_thread.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t requests = 0;

void* ask(std::size_t size) {
  ++requests;
  return std::malloc(size == 0 ? 1 : size);
}
}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = ask(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return ask(size); }
// Not inlined: next to its caller the compiler takes free() for the wrong partner of new.
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace tessera::test {

std::uint64_t heap_requests_of_this_thread() { return requests; }

}  // namespace tessera::test
