/// What a process does so that the memory of a large call does not stay with it.
#pragma once

namespace tessera {

/// From now on blocks of a few MiB and more are mapped each for itself and go back when they are
/// freed. The C library does so too, but stops after the first one. Before the first thread.
void map_large_blocks();

/// Gives the pages of the heap in which nothing is left back to the system, where the C library
/// would keep them between blocks that are still in use. Any thread; takes milliseconds, during
/// which the heap is locked.
void return_free_memory();

}  // namespace tessera
