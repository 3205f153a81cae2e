#include "admission_review.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::bench {
namespace {

std::string answer(int serial, const std::string& patch, bool allowed = true) {
  const std::string with = patch.empty() ? ""
                                         : fmt::format(R"(,"patchType":"JSONPatch","patch":"{}")",
                                                       text::base64_encode(patch));
  return fmt::format(
      R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{{"uid":"{}","allowed":{}{}}}}})",
      review_uid(serial), allowed, with);
}
const std::string kGood =
    R"([{"op":"replace","path":"/spec/schedulerName","value":"hami-scheduler"}])";
const std::string kOther =
    R"([{"op":"replace","path":"/spec/schedulerName","value":"some-scheduler"}])";

TEST(ReviewRequest, IsOneReviewOfAPod) {
  for (const ReviewedPod pod : {ReviewedPod::kDevice, ReviewedPod::kPlain}) {
    const std::string request = review_request(pod, 7);
    const std::string body = request.substr(request.find("\r\n\r\n") + 4);
    EXPECT_NE(request.find(fmt::format("Content-Length: {}\r\n", body.size())), std::string::npos);
    json::Parser parser;
    const auto read = parser.parse(body);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ((*read)["request"]["uid"].string_or(""), review_uid(7));
    EXPECT_EQ((*read)["request"]["object"]["spec"]["containers"].size(), 1U);
    EXPECT_EQ(body.find("nvidia.com/gpumem") != std::string::npos, pod == ReviewedPod::kDevice);
  }
}

TEST(AnswerCheck, EveryAnswerIsLikeTheFirst) {
  AnswerCheck check(ReviewedPod::kDevice, 8);
  EXPECT_TRUE(check(answer(3, kGood)));
  EXPECT_TRUE(check(answer(7, kGood)));
  EXPECT_FALSE(check(answer(8, kGood))) << "no such review";
  EXPECT_FALSE(check(answer(3, kOther)));
  EXPECT_FALSE(check(answer(3, "")));
}

TEST(AnswerCheck, TheFirstIsReadItself) {
  EXPECT_FALSE(AnswerCheck(ReviewedPod::kDevice, 8)(answer(0, kOther)));
  EXPECT_FALSE(AnswerCheck(ReviewedPod::kDevice, 8)(answer(0, "")));
  EXPECT_FALSE(AnswerCheck(ReviewedPod::kDevice, 8)(answer(0, kGood, false)));
  EXPECT_FALSE(AnswerCheck(ReviewedPod::kDevice, 8)("busy"));
  EXPECT_FALSE(AnswerCheck(ReviewedPod::kPlain, 8)(answer(0, kGood)));
  EXPECT_TRUE(AnswerCheck(ReviewedPod::kPlain, 8)(answer(0, "")));
}

}  // namespace
}  // namespace tessera::bench
