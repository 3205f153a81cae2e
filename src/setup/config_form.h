/// The forms of kube-scheduler's configuration, and which Kubernetes version reads which. Source:
/// the published types of each version; spec/extender-protocol.md section 4. Thread rule:
/// immutable.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace tessera::setup {

struct ConfigForm {
  std::string_view kind, api_version;
  int first = 0, last = 0;  ///< Kubernetes 1.first to 1.last; last 0 = to this day
  bool policy = false;      ///< the legacy Policy: unknown fields are dropped without a word
  std::span<const std::string_view> fields;          ///< of the file
  std::span<const std::string_view> profile_fields;  ///< of one of `profiles`
};

constexpr int kOldestMinor = 16;  ///< older versions are not rendered for
constexpr int kTestedMinor = 36;  ///< the tests start this one

/// Oldest first.
std::span<const ConfigForm> config_forms();
/// nullptr when unknown.
const ConfigForm* find_form(std::string_view kind, std::string_view api_version);
/// The newest form that Kubernetes 1.`minor` reads.
const ConfigForm& newest_form(int minor);
bool reads(const ConfigForm& form, int minor);

/// The minor number of "1.29", "v1.29.11-eks-56e63d8", "v1.27.3+k3s1", "1.27+".
Result<int> parse_kube_version(std::string_view text);

}  // namespace tessera::setup
