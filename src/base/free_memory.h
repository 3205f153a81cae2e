/// Thread rule: any thread; takes milliseconds, during which the heap is locked.
#pragma once

namespace tessera {

/// Gives the pages of the heap in which nothing is left back to the system, where the C library
/// would keep them between blocks that are still in use.
void return_free_memory();

}  // namespace tessera
