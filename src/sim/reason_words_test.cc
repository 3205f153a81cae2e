#include "sim/reason_words.h"

#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

struct WordsCase {
  std::string_view message, words;
};
class ReasonInWords : public testing::TestWithParam<WordsCase> {};
TEST_P(ReasonInWords, CountsCardsAndNodes) {
  EXPECT_EQ(reason_in_words(GetParam().message), GetParam().words);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ReasonInWords,
    testing::ValuesIn(std::vector<WordsCase>{
        {"0/20 nodes are available: 19 8/8 CardInsufficientMemory, 1 node unregistered.",
         "152 cards: too little memory left; 1 node: no registered card"},
        {"0/3 nodes are available: 2 1/8 CardInsufficientMemory, 7/8 "
         "ExclusiveDeviceAllocateConflict, 1 NodeInsufficientDevice.",
         "14 cards: in use, an unused one is asked for; 2 cards: too little memory left; 1 node: "
         "fewer cards than asked for"},
        {"0/2 nodes are available: 1 1/1 CardNotHealth, 1 1/2 CardNotHealth, 1/2 CardCordoned.",
         "2 cards: unhealthy; 1 card: cordoned"},
        {"0/0 nodes are available.", "0/0 nodes are available."},
        {"binding rejected: node lock contention", "binding rejected: node lock contention"},
        {"0/1 nodes are available: 1 something new.", "0/1 nodes are available: 1 something new."},
        {"", ""},
    }));

}  // namespace
}  // namespace tessera::sim
