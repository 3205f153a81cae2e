// What a decision by a known class asks of the heap: the allocation that is kept, and nothing else.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/core_test_builders.h"
#include "core/heap_test_counter.h"
#include "core/place_index.h"

namespace tessera::core::testing {
namespace {

class IndexMemory : public ::testing::Test {
 protected:
  IndexMemory() : cluster_(VendorTable(1)) {
    for (std::uint32_t n = 0; n < 500; ++n) {
      names_.push_back("a-node-with-a-long-name-" + std::to_string(1000 + n));
      cluster_.set_node(node(names_.back(), {card("a-card-with-a-long-name-" + std::to_string(n)),
                                             card("a-second-card-of-node-" + std::to_string(n))}));
    }
    views_.assign(names_.begin(), names_.end());
    reader_.read(cluster_, views_, candidates_);
  }

  Cluster cluster_;
  PlaceIndex index_{{}};
  CandidateReader reader_;
  CandidateSet candidates_;
  std::vector<std::string> names_;
  std::vector<std::string_view> views_;
};

TEST_F(IndexMemory, NamesAreReadIntoKeptMemory) {
  EXPECT_EQ(allocations_of([&] { reader_.read(cluster_, views_, candidates_); }), 0U);
}

TEST_F(IndexMemory, AKnownClassAsksForTheAllocationThatIsKeptAndNothingElse) {
  const Request request = pod("pod", ask(1, 1000, 10));
  const auto first = index_.choose(cluster_, request, candidates_);
  ASSERT_TRUE(first.decision.has_value());
  const auto kept = allocations_of([&] { const Allocation copy = first.decision->allocation; });
  const auto spent = allocations_of([&] { index_.choose(cluster_, request, candidates_); });
  EXPECT_EQ(spent, kept);
  EXPECT_LE(kept, 5U) << "node, kinds, grants, device, namespace";
}

TEST_F(IndexMemory, AKnownClassThatFitsNowhereAsksForNothing) {
  const Request request = pod("pod", ask(1, 1'000'000, 10));
  index_.choose(cluster_, request, candidates_);
  EXPECT_EQ(allocations_of([&] { index_.choose(cluster_, request, candidates_); }), 0U);
}

TEST_F(IndexMemory, NodesThatChangeAreLookedAtAgainInKeptMemory) {
  const Request request = pod("pod", ask(1, 1'000'000, 10));
  const auto change_and_ask = [&] {
    for (std::uint32_t n = 0; n < 40; ++n)
      cluster_.set_locked({n}, !cluster_.node({n}).spec.locked);
    index_.choose(cluster_, request, candidates_);
  };
  change_and_ask();
  change_and_ask();
  EXPECT_EQ(allocations_of(change_and_ask), 0U);
}

}  // namespace
}  // namespace tessera::core::testing
