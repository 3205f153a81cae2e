/// How the C library keeps the memory of a process that lives for months, and what makes it give
/// some back.
#pragma once

#include <cstddef>

namespace tessera {

/// From now on blocks of a few MiB and more are mapped each for itself and go back when they are
/// freed. The C library does so too, but stops after the first one. Before the first thread.
void map_large_blocks();

/// An arena for each thread keeps apart what few threads allocate and others free: pods and nodes
/// are made on the API client's thread and end on the state thread. From now on there are two:
/// calls allocate next to nothing, so there is no crowd at them. Before the first thread.
void limit_arenas();

/// Memory that is about to be written from one end to the other, MiBs of it: the system may give it
/// in large pages, which spares it thousands of page faults. A wish, and only for blocks that are
/// mapped each for itself; any thread.
void prefer_large_pages(void* at, std::size_t bytes);

/// Gives the pages of the heap in which nothing is left back to the system, where the C library
/// would keep them between blocks that are still in use. Any thread; takes milliseconds, during
/// which the heap is locked.
void return_free_memory();

}  // namespace tessera
