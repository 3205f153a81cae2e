#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "setup/check_parts.h"

namespace tessera::setup {
namespace {

constexpr std::int64_t kDefaultMaxBackoff = 10;
constexpr std::int64_t kGoodMaxBackoff = 2;  // D13

/// "1.22 to 1.27", "1.25 and newer"
std::string range_of(const ConfigForm& form) {
  if (form.last == 0) return fmt::format("1.{} and newer", form.first);
  if (form.first == 0) return fmt::format("up to 1.{}", form.last);
  return fmt::format("1.{} to 1.{}", form.first, form.last);
}

std::string lease_of(const std::string& ns, const std::string& name) { return ns + "/" + name; }

/// The file's, with kube-scheduler's defaults.
std::string file_lease(const LeaderElectionConfig& e) {
  const auto either = [](const Given<std::string>& given, const char* otherwise) {
    return given.value.empty() ? std::string(otherwise) : given.value;
  };
  return lease_of(either(e.resource_namespace, "kube-system"),
                  either(e.resource_name, "kube-scheduler"));
}

void check_lease(Checker& c, const std::string& lease, int line) {
  const std::string ours = lease_of(c.offer.lease_namespace, c.offer.lease_name);
  if (c.offer.leader_elect && lease != ours) {
    c.say(Severity::kError, line, "leaderElection.resourceName", lease,
          fmt::format("tessera serve watches the Lease {} and never sees this kube-scheduler hold "
                      "it: it does not lead, every filter is refused",
                      ours),
          fmt::format("resourceName: {}, resourceNamespace: {}", c.offer.lease_name,
                      c.offer.lease_namespace));
    return;
  }
  const auto& profiles = c.config.profiles.value;
  const bool replaces_default = std::any_of(
      profiles.begin(), profiles.end(),
      [](const ProfileConfig& p) { return p.scheduler_name.value == "default-scheduler"; });
  if (lease == "kube-system/kube-scheduler" && !replaces_default) {
    c.say(Severity::kError, line, "leaderElection.resourceName", lease,
          "the Lease of the cluster's own kube-scheduler, which holds it: this one waits for it "
          "and schedules nothing",
          fmt::format("resourceName: {}", c.offer.scheduler_name.empty()
                                              ? std::string(kUsualSchedulerName)
                                              : c.offer.scheduler_name));
  } else if (!c.offer.leader_elect && c.offer.program == Program::kServe) {
    c.say(Severity::kWarning, line, "leaderElection.leaderElect", "true",
          "tessera serve runs without --leader-elect: with a second replica both decide, each "
          "without the other's reservations",
          "leaderElect: false for one replica, or start serve with --leader-elect");
  }
}

void check_percentage(Checker& c, const Given<std::int64_t>& percentage, const std::string& path,
                      bool missing_counts) {
  if (percentage.value > 100) {
    c.say(Severity::kError, percentage.line, path, fmt::to_string(percentage.value),
          "above 100: kube-scheduler refuses the file and does not start",
          "percentageOfNodesToScore: 100");
    return;
  }
  if (percentage.value == 100 || (!percentage.given() && !missing_counts)) return;
  c.say(Severity::kWarning, percentage.line, path,
        percentage.given() ? fmt::to_string(percentage.value) : "",
        fmt::format("{}: with more than 100 nodes kube-scheduler stops looking when it has found "
                    "some that fit and shows only those; the node that the policy would choose is "
                    "often not among them, so packing gets worse",
                    percentage.value == 0 ? "missing or 0 means 50 % and less, falling as the "
                                            "cluster grows"
                                          : "below 100"),
        "percentageOfNodesToScore: 100");
}

}  // namespace

void check_version(Checker& c) {
  const ConfigForm& form = *c.config.form;
  const auto& version = c.config.api_version;
  const auto readers = [](const ConfigForm& f) { return range_of(f); };
  if (!c.offer.kube_minor) {
    if (form.last == 0) return;
    c.say(Severity::kHint, version.line, "apiVersion", version.value,
          fmt::format("{} is read by Kubernetes {} only; say --kube-version to have it checked",
                      form.policy ? "a Policy" : "this version", readers(form)));
    return;
  }
  if (reads(form, *c.offer.kube_minor)) return;
  const ConfigForm& newest = newest_form(*c.offer.kube_minor);
  c.say(Severity::kError, version.line, "apiVersion", version.value,
        fmt::format("{} is read by Kubernetes {}; kube-scheduler 1.{} does not start with it",
                    form.policy ? "a Policy" : "this version", readers(form), *c.offer.kube_minor),
        fmt::format("apiVersion: {}, kind: {}", newest.api_version, newest.kind));
}

void check_profiles(Checker& c) {
  if (c.config.form->policy) return;  // the name is a flag there
  std::set<std::string> names;
  for (const ProfileConfig& profile : c.config.profiles.value) {
    const std::string& name = profile.scheduler_name.value;
    if (!names.insert(name.empty() ? "default-scheduler" : name).second) {
      c.say(Severity::kError, profile.scheduler_name.line, profile.path + ".schedulerName", name,
            "two profiles with one name: kube-scheduler refuses the file and does not start");
    }
  }
  if (names.empty()) names.insert("default-scheduler");
  if (!places_devices(c.offer.program) && c.offer.scheduler_name.empty()) return;
  const bool told = !c.offer.scheduler_name.empty();
  const std::string wanted = told ? c.offer.scheduler_name : std::string(kUsualSchedulerName);
  if (names.contains(wanted)) return;
  c.say(told ? Severity::kError : Severity::kWarning, c.config.profiles.line, "profiles", "",
        fmt::format("no profile with schedulerName {}: pods that carry this name stay Pending, and "
                    "no event says why{}",
                    wanted, told ? "" : " (if serve has another --scheduler-name, say it here)"),
        fmt::format("- schedulerName: {}", wanted));
}

void check_sampling(Checker& c) {
  if (c.config.form->policy) return;  // no field of it
  const auto& profiles = c.config.profiles.value;
  bool all_override = !profiles.empty();
  for (const ProfileConfig& profile : profiles) {
    check_percentage(c, profile.percentage_of_nodes_to_score,
                     profile.path + ".percentageOfNodesToScore", false);
    all_override = all_override && profile.percentage_of_nodes_to_score.given();
  }
  check_percentage(c, c.config.percentage_of_nodes_to_score, "percentageOfNodesToScore",
                   !all_override);
}

void check_backoff(Checker& c) {
  if (c.config.form->policy) return;
  const auto& first = c.config.pod_initial_backoff;
  const auto& most = c.config.pod_max_backoff;
  const std::int64_t initial = first.given() ? first.value : 1;
  const std::int64_t max = most.given() ? most.value : kDefaultMaxBackoff;
  if (initial < 1) {
    c.say(Severity::kError, first.line, "podInitialBackoffSeconds", fmt::to_string(initial),
          "not above 0: kube-scheduler refuses the file and does not start",
          "podInitialBackoffSeconds: 1");
  } else if (max < initial) {
    c.say(Severity::kError, most.given() ? most.line : first.line, "podMaxBackoffSeconds",
          fmt::to_string(max),
          fmt::format("below podInitialBackoffSeconds, {}: kube-scheduler refuses the file and "
                      "does not start",
                      initial),
          "podMaxBackoffSeconds: 2");
  } else if (max > kGoodMaxBackoff && c.offer.program == Program::kServe) {
    c.say(Severity::kHint, most.line, "podMaxBackoffSeconds",
          most.given() ? fmt::to_string(max) : "",
          fmt::format("a pod that was refused waits up to {} s before it is tried again, also when "
                      "room has been made for it",
                      max),
          "podMaxBackoffSeconds: 2");
  }
}

void check_leader_election(Checker& c) {
  if (c.config.form->policy) return;  // flags there
  const LeaderElectionConfig& e = c.config.leader_election.value;
  const bool elects = !e.leader_elect.given() || e.leader_elect.value;  // kube-scheduler's default
  const int line = e.resource_name.given()  ? e.resource_name.line
                   : e.leader_elect.given() ? e.leader_elect.line
                                            : c.config.leader_election.line;
  if (elects) {
    if (e.resource_lock.given() && e.resource_lock.value != "leases") {
      c.say(
          Severity::kError, e.resource_lock.line, "leaderElection.resourceLock",
          e.resource_lock.value,
          "only a Lease can be watched by the server, and newer kube-schedulers take nothing else",
          "resourceLock: leases");
    }
    return check_lease(c, file_lease(e), line);
  }
  if (!c.offer.leader_elect) return;
  c.say(Severity::kError, line, "leaderElection.leaderElect", "false",
        "tessera serve is started with --leader-elect and waits for this kube-scheduler to hold "
        "the Lease, which it never takes: every filter is refused",
        "leaderElect: true");
}

}  // namespace tessera::setup
