#include "setup/check.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "setup/check_parts.h"

namespace tessera::setup {
namespace {

std::ptrdiff_t ours_in(const ExtenderConfig& e, const Offer& offer) {
  const auto& names = e.managed_resources.value;
  return std::count_if(names.begin(), names.end(), [&](const ManagedResource& managed) {
    return std::any_of(offer.resources.begin(), offer.resources.end(),
                       [&](const OfferedResource& r) { return r.name == managed.name.value; });
  });
}

/// The extender that our server answers: the one that manages most of our resources. A server
/// without resources, or a file that names none of them, is answered by those that name none at
/// all.
std::vector<const ExtenderConfig*> find_ours(const SchedulerConfig& config, const Offer& offer) {
  const auto& extenders = config.extenders.value;
  if (extenders.size() == 1) return {&extenders.front()};
  const auto most = std::max_element(extenders.begin(), extenders.end(),
                                     [&](const ExtenderConfig& a, const ExtenderConfig& b) {
                                       return ours_in(a, offer) < ours_in(b, offer);
                                     });
  if (most != extenders.end() && ours_in(*most, offer) > 0) return {&*most};
  std::vector<const ExtenderConfig*> ours;
  for (const ExtenderConfig& e : extenders) {
    if (e.managed_resources.value.empty()) ours.push_back(&e);
  }
  return ours;
}

void check_extenders(Checker& c) {
  for (const ExtenderConfig& e : c.config.extenders.value) check_any_extender(c, e);
  check_binders(c);
  check_resource_names(c);
  const std::vector<const ExtenderConfig*> ours = find_ours(c.config, c.offer);
  if (ours.empty()) {
    c.say(Severity::kError, c.config.extenders.line, "extenders", "",
          places_devices(c.offer.program)
              ? "no extender with our resources: kube-scheduler places pods with devices by itself "
                "and nobody gives them any"
              : "no extender for every pod: the labels of the nodes are never looked at",
          "what `tessera render scheduler-config` prints");
    return;
  }
  for (const ExtenderConfig* e : ours) check_our_extender(c, *e);
  check_resources(c, ours);
}

}  // namespace

std::vector<Finding> check_scheduler_config(std::string_view text, const Offer& offer) {
  ReadConfig read = read_scheduler_config(text);
  std::vector<Finding> findings = std::move(read.findings);
  if (read.readable) {
    Checker c{read.config, offer};
    check_version(c);
    check_profiles(c);
    check_sampling(c);
    check_backoff(c);
    check_leader_election(c);
    check_extenders(c);
    const std::size_t unread = findings.size();
    for (Finding& finding : c.findings) {
      // What could not be read has been told and is not judged as if it were missing.
      const bool told =
          std::any_of(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(unread),
                      [&](const Finding& f) { return !f.path.empty() && f.path == finding.path; });
      if (!told) findings.push_back(std::move(finding));
    }
  }
  sort_findings(findings);
  return findings;
}

}  // namespace tessera::setup
