#include "base/move_function.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace tessera {
namespace {

TEST(MoveFunction, EmptyUntilGivenSomething) {
  MoveFunction<int(int)> f;
  EXPECT_FALSE(f);
  EXPECT_THROW(f(1), std::bad_function_call);
  f = [](int x) { return x + 1; };
  EXPECT_TRUE(f);
  EXPECT_EQ(f(1), 2);
  f = nullptr;
  EXPECT_FALSE(f);
}

TEST(MoveFunction, AnEmptyFunctionStaysEmpty) {
  const std::function<void()> nothing;
  EXPECT_FALSE(MoveFunction<void()>(nothing));
  void (*pointer)() = nullptr;
  EXPECT_FALSE(MoveFunction<void()>(pointer));
}

TEST(MoveFunction, OwnsWhatCannotBeCopied) {
  MoveFunction<int()> f = [number = std::make_unique<int>(7)] { return *number; };
  MoveFunction<int()> g = std::move(f);
  EXPECT_FALSE(f);
  EXPECT_EQ(g(), 7);
}

TEST(MoveFunction, LargeOnesLiveOutside) {
  std::array<char, 200> text{};
  text[199] = 'x';
  MoveFunction<char()> f = [text] { return text[199]; };
  MoveFunction<char()> g;
  g = std::move(f);
  EXPECT_EQ(g(), 'x');
}

TEST(MoveFunction, EveryOneIsDestroyedOnce) {
  const auto life = std::make_shared<int>(0);
  std::array<char, 200> bulk{};
  {
    MoveFunction<void()> small = [life] {};
    MoveFunction<void()> large = [life, bulk] { EXPECT_EQ(bulk[0], '\0'); };
    EXPECT_EQ(life.use_count(), 3);
    MoveFunction<void()> other = std::move(small);
    small = std::move(large);
    small();
    EXPECT_EQ(life.use_count(), 3);
    other.reset();
    EXPECT_EQ(life.use_count(), 2);
    small = [] {};
    EXPECT_EQ(life.use_count(), 1);
  }
  EXPECT_EQ(life.use_count(), 1);
}

TEST(MoveFunction, AResultThatNobodyWantsIsDropped) {
  int calls = 0;
  MoveFunction<void(std::string)> f = [&calls](const std::string& text) {
    return calls += static_cast<int>(text.size());
  };
  f("abc");
  f("d");
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace tessera
