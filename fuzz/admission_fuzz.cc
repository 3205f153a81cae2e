#include "fuzz/fuzz.h"
#include "k8s/admission.h"
#include "k8s/decode.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  k8s::AdmissionResponse response;
  const auto review = k8s::decode_admission_review(parser, fuzz::as_text(data, size));
  if (fuzz::accepted(review)) {
    fuzz::require(!review->uid.empty(), "the answer needs a uid");
    response.api_version = review->api_version;
    response.kind = review->kind;
    response.uid = review->uid;
    response.patch = review->object.dump();
    const auto pod = k8s::decode_pod(review->object);
    if (!pod) response.warnings.push_back(pod.error().what);
  } else {
    response.allowed = false;
    response.message = review.error().what;
  }
  json::Parser check;
  fuzz::require(check.parse(k8s::encode_admission_response(response)).has_value(),
                "an answer is valid JSON");
  return 0;
}
