/// How much memory all threads together hold from the heap, and the most they held, in a test
/// program that links heap_peak.cc. What is asked for counts, touched or not.
#pragma once

#include <cstdint>

namespace tessera::test {

std::int64_t heap_bytes();
std::int64_t heap_peak();
void restart_heap_peak();  ///< from what is held now

}  // namespace tessera::test
