#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "setup/check_parts.h"
#include "setup/nearest.h"

namespace tessera::setup {
namespace {

constexpr std::string_view kRefuses = "kube-scheduler refuses the file and does not start";

/// What is wrong with a name that must be one of an extended resource; "" = nothing.
std::string name_fault(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (name.empty()) return "empty";
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size() ||
      name.find('/', slash + 1) != std::string::npos) {
    return "not of the form domain/name";
  }
  const std::string domain = name.substr(0, slash);
  if (domain == "kubernetes.io" || domain.ends_with(".kubernetes.io"))
    return "a name of Kubernetes itself";
  if (name.starts_with("requests.")) return "begins with requests.";
  const bool plain = name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789-_./") == std::string::npos;
  return plain ? std::string() : "has letters that no resource name has";
}

const OfferedResource* find_offered(const Offer& offer, const std::string& name) {
  const auto at = std::find_if(offer.resources.begin(), offer.resources.end(),
                               [&](const OfferedResource& r) { return r.name == name; });
  return at == offer.resources.end() ? nullptr : &*at;
}

/// The sentences on pods that ask for one of these.
std::string what_missing_does(const Offer& offer, const std::vector<std::string>& missing,
                              bool all_pods_are_shown) {
  const bool uncounted = std::any_of(missing.begin(), missing.end(), [&](const std::string& name) {
    return !find_offered(offer, name)->has_capacity;
  });
  std::string out;
  if (uncounted) {
    out =
        "Nodes have no capacity of memory, cores and the like, so that kube-scheduler finds every "
        "node \"Insufficient\" for a pod that asks for them, and it stays Pending; ";
  }
  out += all_pods_are_shown ? "every pod of the cluster is sent to us to be bound"
                            : "a pod that asks for nothing else that is managed is not shown to "
                              "us, and no device is written into it";
  if (!uncounted) out.front() = all_pods_are_shown ? 'E' : 'A';
  return out;
}

void check_missing(Checker& c, const ExtenderConfig& first, const std::set<std::string>& ours,
                   const std::map<std::string, std::string>& others) {
  std::vector<std::string> missing;
  for (const OfferedResource& resource : c.offer.resources) {
    if (ours.contains(resource.name)) continue;
    const auto other = others.find(resource.name);
    if (other == others.end()) {
      missing.push_back(resource.name);
      continue;
    }
    c.say(
        Severity::kError, first.managed_resources.line, first.path + ".managedResources",
        resource.name,
        fmt::format("managed by {} instead: a pod that asks only for it is not shown to us",
                    other->second),
        fmt::format("- {{name: {}, ignoredByScheduler: true}} here and not there", resource.name));
  }
  if (missing.empty()) return;
  const bool none = first.managed_resources.value.empty();
  c.say(Severity::kError, none ? first.line : first.managed_resources.line,
        first.path + ".managedResources", "",
        fmt::format("missing: {}. {}", text::join(missing, ", "),
                    what_missing_does(c.offer, missing, none)),
        fmt::format(
            "- {{name: {}, ignoredByScheduler: true}}{}", missing.front(),
            missing.size() > 1 ? " and so on, as `tessera render scheduler-config` does" : ""));
}

void check_ignored(Checker& c, const ManagedResource& managed, const OfferedResource& resource) {
  if (managed.ignored_by_scheduler.value) return;
  const int line =
      managed.ignored_by_scheduler.given() ? managed.ignored_by_scheduler.line : managed.name.line;
  const std::string path = managed.path + ".ignoredByScheduler";
  if (resource.has_capacity) {
    c.say(Severity::kWarning, line, path, "false",
          fmt::format("kube-scheduler counts {} as well, by its own rules, and refuses nodes that "
                      "have room by ours",
                      managed.name.value),
          "ignoredByScheduler: true");
  } else {
    c.say(Severity::kError, line, path, "false",
          fmt::format("nodes have no capacity of {}, so that kube-scheduler finds every node "
                      "\"Insufficient\", and pods that ask for it stay Pending",
                      managed.name.value),
          "ignoredByScheduler: true");
  }
}

void check_known(Checker& c, const ExtenderConfig& e) {
  std::vector<std::string_view> known;
  for (const OfferedResource& resource : c.offer.resources) known.push_back(resource.name);
  std::vector<std::string> strangers;
  int line = 0;
  for (const ManagedResource& managed : e.managed_resources.value) {
    const OfferedResource* resource = find_offered(c.offer, managed.name.value);
    if (resource != nullptr) {
      check_ignored(c, managed, *resource);
      continue;
    }
    if (!name_fault(managed.name.value).empty()) continue;  // told already
    strangers.push_back(managed.name.value);
    if (const auto meant = nearest(managed.name.value, known); !meant.empty())
      strangers.back() += fmt::format(" (meant: {}?)", meant);
    if (line == 0) line = managed.name.line;
  }
  if (strangers.empty()) return;
  c.say(Severity::kWarning, line, e.path + ".managedResources", "",
        fmt::format("no vendor of the device configuration has {}: pods that ask for it are sent "
                    "to us and placed as if they asked for nothing; with ignoredByScheduler nobody "
                    "counts it",
                    text::join(strangers, ", ")));
}

}  // namespace

void check_resource_names(Checker& c) {
  std::map<std::string, std::string> seen;  // name -> path
  for (const ExtenderConfig& e : c.config.extenders.value) {
    for (const ManagedResource& managed : e.managed_resources.value) {
      const std::string& name = managed.name.value;
      const std::string path = managed.path + ".name";
      const int line = managed.name.given() ? managed.name.line : managed.line;
      if (const std::string fault = name_fault(name); !fault.empty()) {
        c.say(Severity::kError, line, path, name,
              fmt::format("{}: no extended resource; {}", fault, kRefuses));
        continue;
      }
      const auto [first, fresh] = seen.emplace(name, managed.path);
      if (fresh) continue;
      c.say(Severity::kError, line, path, name,
            fmt::format("given twice, first as {}, and over all extenders a name may stand once: "
                        "{}",
                        first->second, kRefuses));
    }
  }
}

void check_resources(Checker& c, const std::vector<const ExtenderConfig*>& ours) {
  if (!places_devices(c.offer.program)) {
    for (const ExtenderConfig* e : ours) {
      if (e->managed_resources.value.empty()) continue;
      c.say(Severity::kHint, e->managed_resources.line, e->path + ".managedResources", "",
            "only pods that ask for one of these are shown; all others go to any node, whatever "
            "its label");
    }
    return;
  }
  std::set<std::string> names;
  for (const ExtenderConfig* e : ours) {
    for (const ManagedResource& managed : e->managed_resources.value)
      names.insert(managed.name.value);
    check_known(c, *e);
  }
  std::map<std::string, std::string> others;
  for (const ExtenderConfig& e : c.config.extenders.value) {
    if (std::any_of(ours.begin(), ours.end(), [&](const ExtenderConfig* o) { return o == &e; }))
      continue;
    for (const ManagedResource& managed : e.managed_resources.value)
      others.emplace(managed.name.value, e.path);
  }
  check_missing(c, *ours.front(), names, others);
}

}  // namespace tessera::setup
