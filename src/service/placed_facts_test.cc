#include "service/placed_facts.h"

#include <gtest/gtest.h>

namespace tessera::service {
namespace {

PlacedFacts facts(std::size_t fitting, std::size_t rejected) {
  PlacedFacts out;
  out.clear(fitting, rejected);
  return out;
}

TEST(PlacedText, NamesTheChosenNodeLast) {
  PlacedFacts two = facts(2, 1);
  two.add("n1", 12.5);
  two.add("n2", 25);
  EXPECT_EQ(placed_text(two), "find fit node(n2), 1 nodes not fit, 2 nodes fit(n1:12.50,n2:25.00)");
  PlacedFacts alone = facts(1, 0);
  alone.add("n2", 0);
  EXPECT_EQ(placed_text(alone), "find fit node(n2), 0 nodes not fit, 1 nodes fit(n2:0.00)");
}

TEST(PlacedText, SaysThatThereAreMore) {
  PlacedFacts many = facts(9, 1);
  for (const char* name : {"n1", "n2", "n3", "n4", "n0"}) many.add(name, 1);
  EXPECT_EQ(placed_text(many),
            "find fit node(n0), 1 nodes not fit, 9 nodes fit(n1:1.00,n2:1.00,n3:1.00,n4:1.00,…,"
            "n0:1.00)");
}

TEST(PlacedText, InScoredModeTheCallerChooses) {
  PlacedFacts two = facts(2, 3);
  two.all_answered = true;
  two.add("n1", 1);
  two.add("n2", 2);
  EXPECT_EQ(placed_text(two),
            "2 nodes fit(n1:1.00,n2:2.00), 3 nodes not fit; kube-scheduler chooses among them, n2 "
            "is held meanwhile");
}

}  // namespace
}  // namespace tessera::service
