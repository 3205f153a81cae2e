/// AdmissionReview v1 and v1beta1. Source: spec/extender-protocol.md section 7, scheduler.md
/// sections 2.4 and 15.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/objects.h"

namespace tessera::k8s {

/// Who asks, as the API server authenticated them.
struct AdmissionUser {
  std::string name;
  std::vector<std::string> groups;
};

struct AdmissionRequest {
  std::string api_version, kind;  ///< of the review, repeated in the answer
  std::string uid, ns, operation;
  std::string object_kind;   ///< "" = not said
  std::string sub_resource;  ///< "status", "binding", …; "" for the object itself
  AdmissionUser user;
  bool dry_run = false;
  json::Value object, old_object;  ///< valid as long as the parser's document
};
Result<AdmissionRequest> decode_admission_review(json::Parser& parser, std::string_view body);
/// The parser takes the body over, without a copy when there is room for 64 bytes more.
Result<AdmissionRequest> decode_admission_review(json::Parser& parser, std::string&& body);

struct AdmissionResponse {
  std::string api_version, kind, uid;
  bool allowed = true;
  int code = 200;
  std::string message, reason;
  std::string patch;                  ///< JSON text of the RFC 6902 array; empty = no patch
  std::vector<std::string> warnings;  ///< each cut to 256 characters
};
std::string encode_admission_response(const AdmissionResponse& response);  ///< ends with a newline

}  // namespace tessera::k8s
