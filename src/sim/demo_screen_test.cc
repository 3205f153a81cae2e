#include "sim/demo_screen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/demo_row.h"

namespace tessera::sim {
namespace {

DemoPicture picture(int nodes, int cards) {
  DemoPicture p{.model = "NVIDIA-X",
                .elapsed = std::chrono::milliseconds(61'000),
                .duration = std::chrono::milliseconds(120'000)};
  for (int n = 0; n < nodes; ++n) {
    AgentNodeView view{.name = "node-" + std::to_string(100 + n), .pods = 3};
    for (int c = 0; c < cards; ++c) {
      view.devices.push_back({.slots = 10, .memory = {81920}, .cores = {100}});
      view.used.push_back({1, {c % 2 == 0 ? 81920 : 0}, {50}});
    }
    p.nodes.push_back(std::move(view));
  }
  p.loop.pending = 1;
  p.waiting = {{"untried", "gpu=1", ""},
               {"waits", "gpu=1 gpumem-percentage=47 gpucores=47",
                "0/2 nodes are available: 2 8/8 CardInsufficientMemory."}};
  return p;
}

std::string plain(std::string row) {
  std::string plain;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '\x1b')
      at = row.find('m', at);  // a colour escape ends with m
    else
      plain += row[at];
  }
  return plain;
}

std::string joined(const std::vector<std::string>& rows) {
  std::string all;
  for (const std::string& row : rows) all += row + "\n";
  return all;
}

struct SizeCase {
  int nodes, cards, width, height;
};
class ScreenFits : public testing::TestWithParam<SizeCase> {};
TEST_P(ScreenFits, WithColoursAndWithout) {
  const SizeCase c = GetParam();
  for (const bool colour : {false, true}) {
    const std::vector<std::string> rows =
        render_screen(picture(c.nodes, c.cards), {c.width, c.height}, colour);
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(c.height));
    for (const std::string& row : rows) EXPECT_LE(columns_of(plain(row)), c.width) << plain(row);
    EXPECT_EQ(joined(rows).find('\x1b') != std::string::npos, colour);
  }
}
INSTANTIATE_TEST_SUITE_P(Table, ScreenFits,
                         testing::Values(SizeCase{20, 8, 80, 24}, SizeCase{20, 8, 100, 40},
                                         SizeCase{1, 1, 80, 24}, SizeCase{5000, 64, 200, 60},
                                         SizeCase{20, 8, 40, 12}, SizeCase{3, 64, 80, 24}));

TEST(RenderScreen, ShowsEveryNodeWhenThereIsRoom) {
  const std::string screen = joined(render_screen(picture(20, 8), {80, 24}, false));
  for (int n = 0; n < 20; ++n)
    EXPECT_NE(screen.find("node-" + std::to_string(100 + n)), std::string::npos) << n;
}

TEST(RenderScreen, TellsHowManyNodesAreNotShown) {
  const std::string screen = joined(render_screen(picture(500, 8), {80, 24}, false));
  EXPECT_NE(screen.find("nodes more"), std::string::npos);
}

TEST(RenderScreen, SaysWhyPodsWaitAndLeavesOutThoseNotTried) {
  const std::string screen = joined(render_screen(picture(2, 8), {120, 40}, false));
  EXPECT_NE(screen.find("waits  gpu=1 mem=47% cores=47  16 cards: too little memory left"),
            std::string::npos)
      << screen;
  EXPECT_EQ(screen.find("untried"), std::string::npos);
  EXPECT_NE(screen.find("01:01 / 02:00"), std::string::npos);
}

TEST(RenderScreen, TerminalWithoutRoomStillGetsItsRows) {
  EXPECT_EQ(render_screen(picture(20, 8), {1, 1}, true).size(), 12U)
      << "smaller than 40 x 12 is drawn as 40 x 12";
}

TEST(RowBar, FillsInEighthsOfACharacter) {
  const auto bar = [](double share, int cells) {
    Row r(20, true);
    return plain(r.bar(share, cells, "1").bytes());
  };
  EXPECT_EQ(bar(0, 2), "  ");
  EXPECT_EQ(bar(1, 2), "██");
  EXPECT_EQ(bar(0.5, 2), "█ ");
  EXPECT_EQ(bar(0.75, 2), "█▌");
  EXPECT_EQ(bar(7, 2), "██") << "more than all is all";
}

TEST(RowText, IsClippedByCharactersNotBytes) {
  EXPECT_EQ(Row(3, false).text("äöüß").bytes(), "äö…");
  EXPECT_EQ(Row(4, false).text("äöüß").bytes(), "äöüß");
  EXPECT_EQ(Row(9, false).column("abcdef", 4).text("|").bytes(), "abc…|");
  EXPECT_EQ(Row(9, false).column("ab", 4).text("|").bytes(), "ab  |");
}

TEST(RenderLine, HoldsTheFiguresAndOneReason) {
  EXPECT_EQ(
      render_line(picture(2, 8)),
      "01:01 decisions 0/s filter p50 0.00 ms p99 0.00 ms | pods 0 bound 0 running 6 finished 0 "
      "waiting 1 | memory 50 % cores 50 % | waits: 16 cards: too little memory left");
}

TEST(RenderSummary, NamesFaults) {
  const std::string text =
      render_summary({.picture = picture(1, 1), .faults = {"pod a on n1: over"}});
  EXPECT_NE(text.find("FAULT      pod a on n1: over"), std::string::npos);
  EXPECT_EQ(text.find("checks"), std::string::npos);
}

}  // namespace
}  // namespace tessera::sim
