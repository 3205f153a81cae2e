#include "obs/exposition.h"

#include <gtest/gtest.h>

#include "obs/process.h"

namespace tessera::obs {
namespace {

TEST(OpenMetrics, CountersLoseTheirEndingInTheHeadAndThePageIsEnded) {
  EXPECT_EQ(open_metrics("# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n"
                         "# HELP b Now.\n# TYPE b gauge\nb 2\n"),
            "# HELP a Things.\n# TYPE a counter\na_total{x=\"1\"} 3\n"
            "# HELP b Now.\n# TYPE b gauge\nb 2\n# EOF\n");
}

TEST(OpenMetrics, ACounterOfAnotherNameIsOfUnknownType) {
  EXPECT_EQ(open_metrics("# TYPE a counter\na 1\n"), "# TYPE a unknown\na 1\n# EOF\n");
  EXPECT_EQ(open_metrics(""), "# EOF\n");
}

TEST(OpenMetrics, IsChosenByTheAcceptHeader) {
  EXPECT_TRUE(accepts_open_metrics(
      "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"));
  EXPECT_FALSE(accepts_open_metrics("text/plain;version=0.0.4"));
  EXPECT_FALSE(accepts_open_metrics(""));
}

TEST(LabelText, Case161WhatIsNoUtf8IsReplacedAndQuotesAreEscaped) {
  EXPECT_EQ(label_text("plain-1.2/x"), "plain-1.2/x");
  EXPECT_EQ(label_text("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(label_text("K\xC3\xA4rt\xC3"), "K\xC3\xA4rt\xEF\xBF\xBD");
  EXPECT_EQ(label_text("\xFF\xFE"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Process, TheFiguresOfThisProcessAreReal) {
  const ProcessFigures figures = process_figures();
  EXPECT_GT(figures.resident_bytes, 1e6);
  EXPECT_GE(figures.virtual_bytes, figures.resident_bytes);
  EXPECT_GE(figures.open_fds, 3);
  EXPECT_GE(figures.threads, 1);
  EXPECT_GT(figures.start_seconds, 1.5e9);
  const std::string text = process_text(figures);
  EXPECT_NE(text.find("# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes "),
            std::string::npos);
}

TEST(Process, WhatCannotBeReadIsLeftOut) { EXPECT_EQ(process_text({}), ""); }

}  // namespace
}  // namespace tessera::obs
