#include "vendors/reserved_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tessera::vendors {
namespace {

/// Cards a (24,576 MiB), b (1,000 MiB) and p (partitioned, 500 MiB), as "a b p" afterwards or the
/// words of the error.
std::string after(std::string_view annotation) {
  std::vector<core::Device> devices(3);
  const char* ids[] = {"a", "b", "p"};
  const std::int64_t memory[] = {24'576, 1'000, 500};
  for (std::size_t i = 0; i < 3; ++i) {
    devices[i].id = ids[i];
    devices[i].memory = {memory[i]};
  }
  devices[2].mig = std::make_shared<core::MigProfiles>();
  const Status done = reserve_memory(annotation, devices);
  if (!done) return done.error().what;
  return fmt::format("{} {} {}", devices[0].memory.v, devices[1].memory.v, devices[2].memory.v);
}

TEST(ReservedMemory, Case54Table) {
  EXPECT_EQ(after(""), "24576 1000 500");
  EXPECT_EQ(after("3000"), "21576 0 500") << "a smaller card has nothing left";
  EXPECT_EQ(after("10%"), "22119 900 500") << "the reserve is rounded down";
  EXPECT_EQ(after("100%"), "0 0 500");
  EXPECT_EQ(after("a=3000"), "21576 1000 500");
  EXPECT_EQ(after("100, a = 3000"), "21576 900 500") << "an entry with an id wins";
  EXPECT_EQ(after("a=3000,100"), "21576 900 500") << "in any order";
  EXPECT_EQ(after("elsewhere=5"), "24576 1000 500");
}

TEST(ReservedMemory, Case54BadEntriesAreNamedAndChangeNothing) {
  const std::string tail = " is neither MiB nor a percentage up to 100%";
  for (const char* entry : {"3Gi", "-1", "101%", "a=", "%", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(after(fmt::format("100,{}", entry)),
              fmt::format("tessera.io/reserved-memory: \"{}\"{}", entry, tail));
  }
}

}  // namespace
}  // namespace tessera::vendors
