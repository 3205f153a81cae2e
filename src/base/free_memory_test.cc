#include "base/free_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tessera {
namespace {

/// Memory of its own, as the system tells it in /proc/self/smaps.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : bytes_(bytes),
        at_(mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(at_, MAP_FAILED);
    // Nothing like it lies beside it, so that it stays a row of its own.
    EXPECT_EQ(mprotect(begin(), bytes, PROT_READ | PROT_WRITE), 0);
  }
  ~Mapping() { munmap(at_, 3 * bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* begin() const { return static_cast<char*>(at_) + bytes_; }
  bool prefers_large_pages() const {
    const auto wanted = reinterpret_cast<std::uintptr_t>(begin());
    std::ifstream file("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(file, line);) {
      char* end = nullptr;
      const std::uintptr_t first = std::strtoull(line.c_str(), &end, 16);
      if (*end == '-') here = first == wanted;
      if (here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
    }
    return false;  // not told by every kernel
  }

 private:
  std::size_t bytes_;
  void* at_;
};

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// And tells of them: then the test below can fail.
bool system_has_large_pages() {
  const Mapping probe(8 * kMebibyte);
  return madvise(probe.begin(), 8 * kMebibyte, MADV_HUGEPAGE) == 0 && probe.prefers_large_pages();
}

TEST(PreferLargePages, ForBlocksThatAreMappedEachForItself) {
  const Mapping block(8 * kMebibyte);
  EXPECT_FALSE(block.prefers_large_pages());
  prefer_large_pages(block.begin(), 8 * kMebibyte);
  EXPECT_EQ(block.prefers_large_pages(), system_has_large_pages());
}

// The wish stays with the address: what the heap gives away there next would have it too.
TEST(PreferLargePages, NotForMemoryOfTheHeap) {
  const Mapping block(8 * kMebibyte);
  prefer_large_pages(block.begin(), 3 * kMebibyte);
  EXPECT_FALSE(block.prefers_large_pages());
}

}  // namespace
}  // namespace tessera
