#include "setup/check.h"

#include <algorithm>
#include <utility>

#include "setup/check_parts.h"

namespace tessera::setup {
namespace {

bool manages_ours(const ExtenderConfig& e, const Offer& offer) {
  const auto& names = e.managed_resources.value;
  return std::any_of(names.begin(), names.end(), [&](const ManagedResource& managed) {
    return std::any_of(offer.resources.begin(), offer.resources.end(),
                       [&](const OfferedResource& r) { return r.name == managed.name.value; });
  });
}

/// The extenders that our server answers: those that manage our resources; a server without
/// resources, or a file that names none of them, is answered by the ones that name none at all.
std::vector<const ExtenderConfig*> find_ours(const SchedulerConfig& config, const Offer& offer) {
  std::vector<const ExtenderConfig*> ours;
  for (const ExtenderConfig& e : config.extenders.value) {
    if (manages_ours(e, offer)) ours.push_back(&e);
  }
  if (!ours.empty()) return ours;
  if (config.extenders.value.size() == 1) return {&config.extenders.value.front()};
  for (const ExtenderConfig& e : config.extenders.value) {
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
    findings.insert(findings.end(), std::make_move_iterator(c.findings.begin()),
                    std::make_move_iterator(c.findings.end()));
  }
  sort_findings(findings);
  return findings;
}

}  // namespace tessera::setup
