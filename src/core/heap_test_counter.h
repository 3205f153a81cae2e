/// How often a test program has asked the heap for memory. Not used by production code.
#pragma once

#include <cstdint>

namespace tessera::core::testing {

std::uint64_t heap_requests();

template <class F>
std::uint64_t allocations_of(F&& work) {
  const std::uint64_t before = heap_requests();
  work();
  return heap_requests() - before;
}

}  // namespace tessera::core::testing
