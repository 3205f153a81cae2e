#include "heap_counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

namespace tessera::bench {
namespace {

using Counter = std::atomic<std::uint64_t>;

std::string library() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bench" /
          "libcount_heap.so")
      .string();
}

}  // namespace

HeapCounter::HeapCounter(const Folder& folder) : file_(folder.file("heap-count")) {
  const int file = open(file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (ftruncate(file, sizeof(Counter)) == 0) {
    void* memory = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) memory_ = memory;
  }
  close(file);
}

HeapCounter::~HeapCounter() {
  if (memory_ != nullptr) munmap(memory_, sizeof(Counter));
}

std::vector<std::string> HeapCounter::environment() const {
  return {"LD_PRELOAD=" + library(), "TESSERA_HEAP_COUNT=" + file_};
}

std::uint64_t HeapCounter::count() const {
  return memory_ == nullptr ? 0 : static_cast<const Counter*>(memory_)->load();
}

}  // namespace tessera::bench
