/// How often the calling thread has asked the heap for memory, in a test program that links
/// heap_by_thread.cc.
#pragma once

#include <cstdint>

namespace tessera::test {

std::uint64_t heap_requests_of_this_thread();

template <class F>
std::uint64_t heap_requests_of(F&& work) {
  const std::uint64_t before = heap_requests_of_this_thread();
  work();
  return heap_requests_of_this_thread() - before;
}

}  // namespace tessera::test
