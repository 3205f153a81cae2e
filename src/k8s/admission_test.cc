#include "k8s/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::k8s {
namespace {

std::string review(std::string_view version, std::string_view request) {
  return R"({"apiVersion":"admission.k8s.io/)" + std::string(version) +
         R"(","kind":"AdmissionReview","request":)" + std::string(request) + "}";
}

TEST(AdmissionReview, BothVersionsAreRead) {
  for (std::string_view version : {"v1", "v1beta1"}) {
    json::Parser parser;
    const std::string body = review(
        version,
        R"({"uid":"u1","namespace":"d","operation":"CREATE","dryRun":true,"oldObject":null,"object":{"metadata":{"name":"p"}}})");
    const auto request = decode_admission_review(parser, body);
    ASSERT_TRUE(request) << request.error().what;
    EXPECT_EQ(request->api_version, "admission.k8s.io/" + std::string(version));
    EXPECT_EQ(request->kind, "AdmissionReview");
    EXPECT_EQ(request->uid, "u1");
    EXPECT_EQ(request->ns, "d");
    EXPECT_EQ(request->operation, "CREATE");
    EXPECT_TRUE(request->dry_run);
    EXPECT_EQ(request->object["metadata"]["name"].string(), "p");
  }
}

TEST(AdmissionReview, KindSubResourceUserAndOldObjectAreRead) {
  json::Parser parser;
  const auto request = decode_admission_review(
      parser, review("v1", R"({"uid":"u1","kind":{"group":"","version":"v1","kind":"Pod"},)"
                           R"("subResource":"status","operation":"UPDATE",)"
                           R"("userInfo":{"username":"ann","groups":["a","b",5]},)"
                           R"("object":{"x":1},"oldObject":{"x":2}})"));
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(request->object_kind, "Pod");
  EXPECT_EQ(request->sub_resource, "status");
  EXPECT_EQ(request->user.name, "ann");
  EXPECT_THAT(request->user.groups, testing::ElementsAre("a", "b"));
  EXPECT_EQ(request->object["x"].integer(), 1);
  EXPECT_EQ(request->old_object["x"].integer(), 2);
}

TEST(AdmissionReview, AMissingObjectIsLeftToTheCaller) {
  json::Parser parser;
  const auto request =
      decode_admission_review(parser, review("v1", R"({"uid":"u1","dryRun":null})"));
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->object.missing());
  EXPECT_FALSE(request->dry_run);
}

TEST(AdmissionReview, ErrorsNameTheField) {
  const auto error = [](std::string_view body) {
    json::Parser parser;
    return decode_admission_review(parser, body).error().what;
  };
  EXPECT_EQ(error(""), "EOF");
  EXPECT_EQ(error("[]"), "admission review: expected an object, got an array");
  EXPECT_EQ(error("{}"), R"(kind: expected AdmissionReview, got "")");
  EXPECT_EQ(error(R"({"kind":"AdmissionReview","apiVersion":"v2"})"),
            R"(apiVersion: expected admission.k8s.io/v1 or v1beta1, got "v2")");
  EXPECT_EQ(error(review("v1", "null")), "admission review missing request");
  EXPECT_EQ(error(review("v1", "[]")), "request: expected an object, got an array");
  EXPECT_EQ(error(review("v1", "{}")), "request.uid: missing");
  EXPECT_EQ(error(review("v1", R"({"uid":5})")), "request.uid: expected a string, got number 5");
  EXPECT_EQ(error(review("v1", R"({"uid":"u","dryRun":"no"})")),
            R"(request.dryRun: expected true or false, got string "no")");
  EXPECT_EQ(error(review("v1", R"({"uid":"u","kind":"Pod"})")),
            R"(request.kind: expected an object, got string "Pod")");
  EXPECT_EQ(error(review("v1", R"({"uid":"u","userInfo":{"username":5}})")),
            "request.userInfo.username: expected a string, got number 5");
}

AdmissionResponse answer() {
  AdmissionResponse response;
  response.api_version = "admission.k8s.io/v1";
  response.kind = "AdmissionReview";
  response.uid = "u1";
  return response;
}

constexpr std::string_view kHead =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":)";

TEST(AdmissionResponse, UnchangedHasNoPatch) {
  EXPECT_EQ(encode_admission_response(answer()),
            std::string(kHead) + R"({"uid":"u1","allowed":true,"status":{"code":200}}})" + "\n");
}

TEST(AdmissionResponse, APatchIsBase64WithItsType) {
  AdmissionResponse response = answer();
  response.patch = R"([{"op":"remove","path":"/x"}])";
  EXPECT_EQ(encode_admission_response(response),
            std::string(kHead) + R"({"uid":"u1","allowed":true,"status":{"code":200},"patch":")" +
                text::base64_encode(response.patch) + R"(","patchType":"JSONPatch"}})" + "\n");
}

TEST(AdmissionResponse, ADenialNamesCodeReasonAndMessageAndHasNoPatch) {
  AdmissionResponse response = answer();
  response.allowed = false;
  response.code = 403;
  response.reason = "Forbidden";
  response.message = "container c is privileged";
  response.patch = "[]";
  EXPECT_EQ(
      encode_admission_response(response),
      std::string(kHead) +
          R"({"uid":"u1","allowed":false,"status":{"status":"Failure","message":"container c is privileged","reason":"Forbidden","code":403}}})"
          "\n");
}

TEST(AdmissionResponse, WithoutAReviewThereIsNoVersionToRepeat) {
  AdmissionResponse response;
  response.allowed = false;
  response.code = 400;
  response.message = "request body is empty";
  EXPECT_THAT(encode_admission_response(response),
              testing::StartsWith(R"({"response":{"uid":"","allowed":false,)"));
}

TEST(AdmissionResponse, WarningsAreCutAtWholeCharacters) {
  AdmissionResponse response = answer();
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "\u00e4";
  response.warnings = {"short", long_text};
  const std::string text = encode_admission_response(response);
  EXPECT_THAT(text,
              testing::HasSubstr(R"("warnings":["short",")" + long_text.substr(0, 512) + "\"]"));
}

}  // namespace
}  // namespace tessera::k8s
