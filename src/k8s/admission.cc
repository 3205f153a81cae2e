#include "k8s/admission.h"

#include <fmt/format.h>

#include "base/text.h"
#include "json/writer.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

constexpr std::size_t kMaxWarning = 256;

/// The first characters of a text; a character is never cut in the middle.
std::string_view cut(std::string_view s, std::size_t characters) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < characters && at < s.size(); ++i) {
    at += std::max<std::size_t>(text::utf8_length(s.substr(at)), 1);
  }
  return s.substr(0, at);
}

void write_status(json::Writer& out, const AdmissionResponse& response) {
  out.key("status").begin_object();
  if (!response.allowed) out.key("status").string("Failure");
  if (!response.message.empty()) out.key("message").string(response.message);
  if (!response.reason.empty()) out.key("reason").string(response.reason);
  out.key("code").integer(response.code).end_object();
}

/// The group and version are not looked at: only pods are known by this kind.
void read_kind(FieldReader& request, AdmissionRequest& result, std::vector<Status>& problems) {
  FieldReader kind(request.object("kind"), "request.kind");
  kind.string("kind", result.object_kind);
  problems.push_back(kind.status());
}

void read_user(FieldReader& request, AdmissionRequest& result, std::vector<Status>& problems) {
  FieldReader user(request.object("userInfo"), "request.userInfo");
  user.string("username", result.user.name);
  user.array("groups").for_each_element([&](json::Value group) {
    if (const auto name = group.string()) result.user.groups.emplace_back(*name);
  });
  problems.push_back(user.status());
}

Result<AdmissionRequest> read_review(const Result<json::Value>& root) {
  if (!root) return tl::unexpected(root.error());
  if (root->kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("admission review", "an object", *root));
  }
  AdmissionRequest result;
  FieldReader review(*root, "");
  review.string("apiVersion", result.api_version);
  review.string("kind", result.kind);
  const json::Value request_value = review.object("request");
  FieldReader request(request_value, "request");
  request.string("uid", result.uid);
  request.string("namespace", result.ns);
  request.string("operation", result.operation);
  request.string("subResource", result.sub_resource);
  request.boolean("dryRun", result.dry_run);
  std::vector<Status> problems;
  read_kind(request, result, problems);
  read_user(request, result, problems);
  result.object = request_value["object"];
  result.old_object = request_value["oldObject"];
  problems.insert(problems.begin(), {review.status(), request.status()});
  for (const Status& problem : problems) {
    if (!problem) return tl::unexpected(problem.error());
  }
  if (result.kind != "AdmissionReview") {
    return fail(Code::kInvalid,
                fmt::format("kind: expected AdmissionReview, got {}", text::quote(result.kind)));
  }
  if (result.api_version != "admission.k8s.io/v1" &&
      result.api_version != "admission.k8s.io/v1beta1") {
    return fail(Code::kInvalid,
                fmt::format("apiVersion: expected admission.k8s.io/v1 or v1beta1, got {}",
                            text::quote(result.api_version)));
  }
  if (request_value.missing()) return fail(Code::kInvalid, "admission review missing request");
  if (result.uid.empty()) return fail(Code::kInvalid, "request.uid: missing");
  return result;
}

}  // namespace

Result<AdmissionRequest> decode_admission_review(json::Parser& parser, std::string_view body) {
  return read_review(parser.parse(body));
}

Result<AdmissionRequest> decode_admission_review(json::Parser& parser, std::string&& body) {
  return read_review(parser.parse(std::move(body)));
}

std::string encode_admission_response(const AdmissionResponse& response) {
  json::Writer out;
  out.begin_object();
  // An undecodable review has neither; the answer then leaves them out instead of inventing some.
  if (!response.kind.empty()) out.key("kind").string(response.kind);
  if (!response.api_version.empty()) out.key("apiVersion").string(response.api_version);
  out.key("response").begin_object();
  out.key("uid").string(response.uid).key("allowed").boolean(response.allowed);
  write_status(out, response);
  if (response.allowed && !response.patch.empty()) {
    out.key("patch").string(text::base64_encode(response.patch));
    out.key("patchType").string("JSONPatch");
  }
  if (!response.warnings.empty()) {
    out.key("warnings").begin_array();
    for (const std::string& warning : response.warnings) out.string(cut(warning, kMaxWarning));
    out.end_array();
  }
  out.end_object().end_object();
  return std::move(out).take() + "\n";
}

}  // namespace tessera::k8s
