/// How the C library keeps the memory of a process that lives for months. Thread rule:
/// limit_heap() before the first thread; MemoryTrimmer: one owner.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace tessera::apps {

void limit_heap();

/// Gives what the first lists have left behind back to the system, once `ready` says that they are
/// complete.
class MemoryTrimmer {
 public:
  explicit MemoryTrimmer(std::function<bool()> ready);

 private:
  std::jthread thread_;  // its destructor ends the wait
};

}  // namespace tessera::apps
