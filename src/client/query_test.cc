#include "client/query.h"

#include <gtest/gtest.h>

namespace tessera::client {
namespace {

TEST(EscapeQuery, LeavesUnreservedCharactersOnly) {
  EXPECT_EQ(escape_query(""), "");
  EXPECT_EQ(escape_query("aZ09-_.~"), "aZ09-_.~");
  EXPECT_EQ(escape_query("gpu=on,zone in (a, b)"), "gpu%3Don%2Czone%20in%20%28a%2C%20b%29");
  EXPECT_EQ(escape_query("a+b/c&d%\n"), "a%2Bb%2Fc%26d%25%0A");
  EXPECT_EQ(escape_query("\xc3\xa4"), "%C3%A4");
}

}  // namespace
}  // namespace tessera::client
