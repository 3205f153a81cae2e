#include "base/shared_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

TEST(SharedText, ReadsLikeAText) {
  const std::string long_text = "a text that does not fit inside";
  SharedText text = long_text;
  EXPECT_EQ(text.view(), long_text);
  EXPECT_TRUE(text == long_text && long_text == text && text == SharedText(long_text));
  EXPECT_FALSE(text == "another" || text == SharedText());
  EXPECT_EQ(text.size(), long_text.size());
  EXPECT_EQ(std::string_view(text), long_text);
  text = "another";
  EXPECT_EQ(text.view(), "another");
  text = "";
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(text == SharedText() && text == std::string());
}

TEST(SharedText, ACopyIsTheSameText) {
  const SharedText text = "a";
  EXPECT_TRUE(text.alone());
  const SharedText copy = text;
  EXPECT_EQ(copy.view().data(), text.view().data());
  EXPECT_FALSE(text.alone());
}

TEST(SharedTexts, EqualOnesBecomeOne) {
  SharedTexts texts;
  SharedText a = "x", b = "x", c = "y", none;
  for (SharedText* text : {&a, &b, &c, &none}) texts.unite(*text);
  EXPECT_EQ(a.view().data(), b.view().data());
  EXPECT_EQ(c.view(), "y");
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(texts.size(), 2U);
}

TEST(SharedTexts, WhatNobodyHasIsForgotten) {
  SharedTexts texts;
  std::vector<SharedText> kept;
  for (int i = 0; i < 100'000; ++i) {
    SharedText text = std::to_string(i);
    texts.unite(text);
    if (i % 1000 == 0) kept.push_back(text);
    ASSERT_LE(texts.size(), 64 + 2 * kept.size());
  }
  SharedText again = "99000";
  texts.unite(again);
  EXPECT_EQ(again.view().data(), kept.back().view().data());
}

}  // namespace
}  // namespace tessera
