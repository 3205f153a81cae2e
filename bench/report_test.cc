#include "report.h"

#include <gmock/gmock.h>

namespace tessera::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

Report sample() {
  Report report{.scenario = "F1", .setting = "binpack", .rows = {}};
  Row row("1,000 nodes");
  row.add(kP50, 0.21).add(kP99, 1.5).must(kP50, 0.25, 0.1).must(kP99, 1.0);
  row.checked(5000, "room");
  report.rows.push_back(row);
  return report;
}

TEST(Report, AFigureHasMissedItsTargetWhen) {
  struct Case {
    double value, must;
    bool more_is_better, missed;
  };
  const Case cases[] = {{1, 1, false, false},  {1.01, 1, false, true}, {1, 1, true, false},
                        {0.99, 1, true, true}, {NAN, 1, false, true},  {NAN, 1, true, true}};
  for (const Case& c : cases) {
    const Figure figure{.name = "x",
                        .value = c.value,
                        .must = c.must,
                        .aim = {},
                        .more_is_better = c.more_is_better};
    EXPECT_EQ(figure.missed(), c.missed) << c.value;
  }
  EXPECT_FALSE(Figure{.name = "x"}.missed()) << "without a target";
}

TEST(Report, MissedTargetsAreMarkedInTheTable) {
  const std::string table = report_table(sample());
  EXPECT_THAT(table, HasSubstr("1.500!"));
  EXPECT_THAT(table, Not(HasSubstr("0.210!")));
  EXPECT_THAT(table, HasSubstr("MISSED  1,000 nodes: p99_ms 1.500, must <= 1\n"));
  EXPECT_THAT(table, HasSubstr("met     1,000 nodes: p50_ms 0.210, must <= 0.250, aim 0.100\n"));
  EXPECT_THAT(table, HasSubstr("checked  1,000 nodes: 5000 answers, room\n"));
}

TEST(Report, TheColumnsAreTheFiguresOfAllRows) {
  Report report = sample();
  report.rows.push_back(Row("start").add(kSeconds, 2).checked(1, "ready"));
  const std::string table = report_table(report);
  EXPECT_THAT(table, HasSubstr("what         p50_ms  p99_ms  seconds\n"));
  EXPECT_THAT(table, HasSubstr("start                              2\n"));
}

TEST(Report, ARowThatWasNotCheckedDoesNotPrint) {
  Report report = sample();
  EXPECT_TRUE(all_checked(report));
  report.rows.push_back(Row("fast").add(kP50, 0.0001));
  EXPECT_FALSE(all_checked(report));
  EXPECT_THAT(report_table(report), HasSubstr("fast: NOT CHECKED"));
  EXPECT_THAT(report_table(report), Not(HasSubstr("0.0001")));
  EXPECT_FALSE(all_checked(Report{})) << "nothing was measured";
}

TEST(Report, JsonHoldsFiguresTargetsAndChecks) {
  const std::string text = report_json(sample());
  EXPECT_THAT(text, HasSubstr(R"({"scenario":"F1","setting":"binpack","machine":{"cores":)"));
  EXPECT_THAT(text, HasSubstr(R"("what":"1,000 nodes","p50_ms":0.21,"p99_ms":1.5)"));
  EXPECT_THAT(text, HasSubstr(R"("must":{"p50_ms":0.25,"p99_ms":1)"));
  EXPECT_THAT(text, HasSubstr(R"("aim":{"p50_ms":0.1})"));
  EXPECT_THAT(text, HasSubstr(R"("missed":["p99_ms"],"checked":5000,"check":"room")"));
}

TEST(Report, ATargetOfAFigureThatIsNotThereIsMissed) {
  Report report{.scenario = "F1", .setting = "", .rows = {}};
  report.rows.push_back(Row("r").must(kP99, 1).checked(1, "c"));
  EXPECT_THAT(report_table(report), HasSubstr("MISSED  r: p99_ms ?"));
  EXPECT_THAT(report_json(report), HasSubstr(R"("p99_ms":null)"));
}

}  // namespace
}  // namespace tessera::bench
