/// Tells of labels that are no numbers once per change of a node, not once per call: one metric,
/// one line in the log. Thread rule: any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "obs/metrics.h"

namespace tessera::label_priority {

class LabelWatch {
 public:
  LabelWatch(std::string label, obs::Metrics& metrics);

  /// `value`: the label as it is now, when it is no number; nullptr = nothing is wrong with it.
  void see(std::string_view node, const std::string* value);
  void forget(std::string_view node) { see(node, nullptr); }

 private:
  const std::string label_;
  obs::Counter problems_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> bad_;  ///< what was told, by node
};

}  // namespace tessera::label_priority
