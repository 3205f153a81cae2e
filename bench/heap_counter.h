/// Counts what a child process asks the heap for, by a small library that is preloaded into it
/// (count_heap.cc). It costs a little: not in a run whose times count. Thread rule: one owner.
///   HeapCounter heap(folder); ChildProcess::start(command, log, heap.environment());
///   const auto before = heap.count(); …; heap.count() - before
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "child_process.h"

namespace tessera::bench {

class HeapCounter {
 public:
  explicit HeapCounter(const Folder& folder);
  ~HeapCounter();
  HeapCounter(const HeapCounter&) = delete;
  HeapCounter& operator=(const HeapCounter&) = delete;
  std::vector<std::string> environment() const;
  std::uint64_t count() const;

 private:
  std::string file_;
  void* memory_ = nullptr;  ///< shared with the child; null: could not be mapped
};

}  // namespace tessera::bench
