#include "base/ring.h"

#include <gtest/gtest.h>

#include <memory>

namespace tessera {
namespace {

TEST(Ring, FirstInFirstOutAcrossItsEnds) {
  Ring<int> ring;
  int in = 0, out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) ring.push(in++);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(ring.pop(), out++);
  }
  EXPECT_EQ(ring.size(), 50U);
  while (!ring.empty()) EXPECT_EQ(ring.pop(), out++);
  EXPECT_EQ(out, in);
}

TEST(Ring, WhatWasTakenOutIsNotKept) {
  Ring<std::shared_ptr<int>> ring;
  const auto life = std::make_shared<int>(1);
  ring.push(life);
  ring.pop();
  EXPECT_EQ(life.use_count(), 1);
}

}  // namespace
}  // namespace tessera
