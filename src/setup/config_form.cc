#include "setup/config_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace tessera::setup {
namespace {

using std::string_view;

constexpr std::array<string_view, 6> kPolicyFields = {
    "kind",       "apiVersion", "predicates",
    "priorities", "extenders",  "hardPodAffinitySymmetricWeight"};
constexpr std::array<string_view, 14> kBeta1Fields = {"kind",
                                                      "apiVersion",
                                                      "leaderElection",
                                                      "clientConnection",
                                                      "enableProfiling",
                                                      "enableContentionProfiling",
                                                      "percentageOfNodesToScore",
                                                      "podInitialBackoffSeconds",
                                                      "podMaxBackoffSeconds",
                                                      "profiles",
                                                      "extenders",
                                                      "parallelism",
                                                      "healthzBindAddress",
                                                      "metricsBindAddress"};
constexpr std::array<string_view, 14> kV1Fields = {"kind",
                                                   "apiVersion",
                                                   "leaderElection",
                                                   "clientConnection",
                                                   "enableProfiling",
                                                   "enableContentionProfiling",
                                                   "percentageOfNodesToScore",
                                                   "podInitialBackoffSeconds",
                                                   "podMaxBackoffSeconds",
                                                   "profiles",
                                                   "extenders",
                                                   "parallelism",
                                                   "delayCacheUntilActive",
                                                   "percentageOfPlacementsToScore"};
constexpr std::array<string_view, 3> kBetaProfile = {"schedulerName", "plugins", "pluginConfig"};
constexpr std::array<string_view, 5> kV1Profile = {"schedulerName", "plugins", "pluginConfig",
                                                   "percentageOfNodesToScore",
                                                   "percentageOfPlacementsToScore"};

constexpr string_view kKind = "KubeSchedulerConfiguration";
constexpr std::array<ConfigForm, 5> kForms = {{
    {.kind = "Policy",
     .api_version = "v1",
     .first = 0,
     .last = 22,
     .policy = true,
     .fields = kPolicyFields},
    {.kind = kKind,
     .api_version = "kubescheduler.config.k8s.io/v1beta1",
     .first = 19,
     .last = 22,
     .fields = kBeta1Fields,
     .profile_fields = kBetaProfile},
    {.kind = kKind,
     .api_version = "kubescheduler.config.k8s.io/v1beta2",
     .first = 22,
     .last = 27,
     .fields = kBeta1Fields,
     .profile_fields = kBetaProfile},
    {.kind = kKind,
     .api_version = "kubescheduler.config.k8s.io/v1beta3",
     .first = 23,
     .last = 28,
     // the two addresses, last in the list, are gone
     .fields = std::span<const string_view>(kBeta1Fields).first(kBeta1Fields.size() - 2),
     .profile_fields = kBetaProfile},
    {.kind = kKind,
     .api_version = "kubescheduler.config.k8s.io/v1",
     .first = 25,
     .last = 0,
     .fields = kV1Fields,
     .profile_fields = kV1Profile},
}};

}  // namespace

std::span<const ConfigForm> config_forms() { return kForms; }

const ConfigForm* find_form(string_view kind, string_view api_version) {
  const auto at = std::find_if(kForms.begin(), kForms.end(), [&](const ConfigForm& f) {
    return f.kind == kind && f.api_version == api_version;
  });
  return at == kForms.end() ? nullptr : &*at;
}

const ConfigForm& newest_form(int minor) {
  const ConfigForm* newest = &kForms.front();
  for (const ConfigForm& form : kForms) {
    if (form.first <= minor) newest = &form;
  }
  return *newest;
}

bool reads(const ConfigForm& form, int minor) {
  return form.first <= minor && (form.last == 0 || minor <= form.last);
}

Result<int> parse_kube_version(string_view text) {
  string_view rest = text;
  if (!rest.empty() && rest.front() == 'v') rest.remove_prefix(1);
  const auto wrong = [&] {
    return fail(Code::kInvalid,
                fmt::format("{} is no version of Kubernetes such as 1.29 or v1.29.11-eks-56e63d8",
                            text::quote(text)));
  };
  if (rest.substr(0, 2) != "1.") return wrong();
  rest.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), minor);
  if (error != std::errc() || minor < 0 || minor > 999) return wrong();
  const string_view tail = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (!tail.empty() && string_view(".+-").find(tail.front()) == string_view::npos) return wrong();
  return minor;
}

}  // namespace tessera::setup
