/// Reviews as an API server sends them for pods of a Deployment, with all that it adds itself, and
/// the check of what a webhook must answer. Thread rule: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::bench {

enum class ReviewedPod { kDevice, kPlain };

/// All uids are of one length.
std::string review_uid(int serial);
/// A whole HTTP request.
std::string review_request(ReviewedPod pod, int serial);

/// Every answer must be that to the first review, but for the uid.
class AnswerCheck {
 public:
  AnswerCheck(ReviewedPod pod, int reviews) : pod_(pod), reviews_(reviews) {}
  /// The first one is taken apart: allowed; a device pod's patch gives it to our scheduler, a plain
  /// pod has none.
  Status operator()(std::string_view body);

 private:
  Status first(std::string_view body);

  ReviewedPod pod_;
  int reviews_;
  std::string before_, after_;  ///< of the answer, around the uid
};

}  // namespace tessera::bench
