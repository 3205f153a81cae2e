#include "http/metrics_answer.h"

#include <gtest/gtest.h>

namespace tessera::http {
namespace {

MetricsForm form_of(std::vector<std::pair<std::string, std::string>> headers) {
  Request request;
  request.headers = std::move(headers);
  return metrics_form(request);
}

const std::string kPage = "# HELP a_total An a.\n# TYPE a_total counter\na_total 1\n";

TEST(MetricsAnswer, TheFormIsWhatTheHeadersWant) {
  EXPECT_FALSE(form_of({}).open);
  EXPECT_FALSE(form_of({}).packed);
  EXPECT_TRUE(form_of({{"accept", "application/openmetrics-text"}}).open);
  EXPECT_TRUE(form_of({{"accept-encoding", "gzip"}}).packed);
}

TEST(MetricsAnswer, PlainOpenAndPacked) {
  const Response plain = metrics_answer(kPage, {});
  EXPECT_EQ(plain.body, kPage);
  EXPECT_EQ(plain.content_type, "text/plain; version=0.0.4; charset=utf-8");
  const Response open = metrics_answer(kPage, {.open = true});
  EXPECT_EQ(open.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_TRUE(open.body.ends_with("# EOF\n")) << open.body;
  std::string large;
  for (int i = 0; i < 200; ++i) large += kPage;
  const Response packed = metrics_answer(large, {.packed = true});
  EXPECT_LT(packed.body.size(), large.size());
  ASSERT_EQ(packed.headers.size(), 2U);
}

}  // namespace
}  // namespace tessera::http
