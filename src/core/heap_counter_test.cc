// The heap of this test program, counted. In a file of its own: a compiler that sees both the
// replacement and its callers takes malloc's memory for a mistake.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/heap_test_counter.h"

namespace {
std::atomic<std::uint64_t> requests{0};
}  // namespace

void* operator new(std::size_t size) {
  requests.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  requests.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
// Not inlined: next to its caller the compiler takes free() for the wrong partner of new.
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace tessera::core::testing {

std::uint64_t heap_requests() { return requests.load(std::memory_order_relaxed); }

namespace {

TEST(HeapCounter, CountsRequests) {
  std::vector<int> kept;
  EXPECT_EQ(allocations_of([&] { kept.push_back(1); }), 1U);
  EXPECT_EQ(allocations_of([&] { kept[0] = 7; }), 0U);
}

}  // namespace
}  // namespace tessera::core::testing
