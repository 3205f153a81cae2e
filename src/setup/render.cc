#include "setup/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "json/writer.h"

namespace tessera::setup {
namespace {

using std::chrono::seconds;

/// A filter call may wait this long for the caches after a start, whatever the locks.
constexpr seconds kShortestTimeout{30};
constexpr seconds kMargin{2};

/// Plain where YAML cannot take it for anything else, else in double quotes.
std::string yaml_text(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '/';
  };
  const bool letter =
      !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '/');
  constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "on",
                                         "off",  "null",  "y",   "n"};
  const bool word =
      std::find(std::begin(kWords), std::end(kWords), text::lower(text)) != std::end(kWords);
  if (letter && !word && std::all_of(text.begin(), text.end(), plain)) return text;
  json::Writer w;
  w.string(text);
  return std::move(w).take();
}

bool is_https(const std::string& url) { return url.rfind("https://", 0) == 0; }

/// What both forms say of the extender.
struct Plan {
  std::string prioritize;
  std::int64_t weight = 0;
  seconds timeout{0};
};

Plan plan_of(const RenderOptions& o) {
  Plan plan{.timeout = timeout_for(o.offer.lock_wait)};
  if (o.offer.program == Program::kLabelPriority) {
    // Its scores are the labels themselves: weight 1, as its users have it.
    plan.prioritize = "prioritize";
    plan.weight = 1;
    plan.timeout = kShortestTimeout;
  } else if (o.offer.answer == Answer::kScored) {
    plan.prioritize = "prioritize";
    plan.weight = kScoredWeight;
  }
  return plan;
}

Status check_url(const RenderOptions& o) {
  const bool https = is_https(o.url);
  if (!https && o.url.rfind("http://", 0) != 0) {
    return fail(Code::kInvalid, fmt::format("--url: {} begins with neither http:// nor https://",
                                            text::quote(o.url)));
  }
  if (o.url.size() <= std::string_view(https ? "https://" : "http://").size())
    return fail(Code::kInvalid, fmt::format("--url: {} names no host", text::quote(o.url)));
  if (https && o.ca_file.empty() && !o.insecure) {
    return fail(Code::kInvalid,
                "--url: https wants --tls-ca FILE, which checks the server's certificate, or "
                "--insecure, which does not");
  }
  if (!https && (!o.ca_file.empty() || o.insecure)) {
    return fail(Code::kInvalid, fmt::format("{}: --url is plain http, there is no certificate",
                                            o.insecure ? "--insecure" : "--tls-ca"));
  }
  if (!o.ca_file.empty() && o.insecure) {
    return fail(Code::kInvalid,
                "--insecure: given with --tls-ca; kube-scheduler refuses a file that says both");
  }
  return {};
}

Status check_name(std::string_view flag, const std::string& name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  if (!name.empty() && name.find_first_not_of(kLetters) == std::string::npos) return {};
  return fail(Code::kInvalid, fmt::format("{}: {} is no name: small letters, digits, '-' and '.'",
                                          flag, text::quote(name)));
}

Status check_options(const RenderOptions& o) {
  if (o.kube_minor < kOldestMinor) {
    return fail(Code::kInvalid,
                fmt::format("--kube-version: 1.{} is older than 1.{}", o.kube_minor, kOldestMinor));
  }
  if (Status s = check_url(o); !s) return s;
  if (Status s = check_name("--scheduler-name", o.offer.scheduler_name); !s) return s;
  if (o.offer.leader_elect) {
    if (Status s = check_name("--leader-elect-resource-name", o.offer.lease_name); !s) return s;
    if (Status s = check_name("--leader-elect-resource-namespace", o.offer.lease_namespace); !s)
      return s;
  }
  const Verbs verbs = verbs_of(o.offer.program);
  if (o.preempt && verbs.preempt.empty()) {
    return fail(Code::kInvalid,
                fmt::format("--preempt: {} serves no such call", name_of(o.offer.program)));
  }
  if (places_devices(o.offer.program) && o.offer.resources.empty())
    return fail(Code::kInvalid, "the device configuration names no resource");
  return {};
}

/// How the server beside it is started, as far as the two must agree.
std::string command_of(const RenderOptions& o) {
  const Offer& offer = o.offer;
  if (offer.program != Program::kServe) return std::string(name_of(offer.program));
  std::string command =
      fmt::format("tessera serve --answer={} --scheduler-name={}",
                  offer.answer == Answer::kScored ? "scored" : "single", offer.scheduler_name);
  if (offer.leader_elect) {
    command += fmt::format(
        " --leader-elect --leader-elect-resource-name={} --leader-elect-resource-namespace={}",
        offer.lease_name, offer.lease_namespace);
  }
  return command;
}

void append_leader(std::string& out, const RenderOptions& o) {
  if (!o.offer.leader_elect) {
    out += "leaderElection:\n  leaderElect: false\n";
    return;
  }
  out += fmt::format(
      "leaderElection:\n  leaderElect: true\n  resourceName: {}\n  resourceNamespace: {}\n",
      yaml_text(o.offer.lease_name), yaml_text(o.offer.lease_namespace));
}

void append_extender(std::string& out, const RenderOptions& o) {
  const Plan plan = plan_of(o);
  out += fmt::format("extenders:\n- urlPrefix: {}\n", yaml_text(o.url));
  if (is_https(o.url)) {
    out += "  enableHTTPS: true\n  tlsConfig:\n";
    out += o.insecure ? std::string("    insecure: true\n")
                      : fmt::format("    caFile: {}\n", yaml_text(o.ca_file));
  }
  out += "  filterVerb: filter\n";
  if (!plan.prioritize.empty())
    out += fmt::format("  prioritizeVerb: {}\n  weight: {}\n", plan.prioritize, plan.weight);
  out += "  bindVerb: bind\n";
  if (o.preempt) out += "  preemptVerb: preempt\n";
  out += fmt::format("  nodeCacheCapable: true\n  httpTimeout: {}s\n  ignorable: false\n",
                     plan.timeout.count());
  if (o.offer.resources.empty()) return;
  out += "  managedResources:\n";
  for (const OfferedResource& resource : o.offer.resources) {
    out += fmt::format("  - name: {}\n    ignoredByScheduler: true\n", yaml_text(resource.name));
  }
}

std::string render_configuration(const RenderOptions& o, const ConfigForm& form) {
  std::string out = fmt::format("# kube-scheduler 1.{} beside {}\n", o.kube_minor, command_of(o));
  out += fmt::format("apiVersion: {}\nkind: {}\n", form.api_version, form.kind);
  if (!o.kubeconfig.empty())
    out += fmt::format("clientConnection:\n  kubeconfig: {}\n", yaml_text(o.kubeconfig));
  append_leader(out, o);
  // The extender chooses among all nodes, not among a sample; a refused pod is soon tried again.
  out += "percentageOfNodesToScore: 100\npodInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 2\n";
  out += fmt::format("profiles:\n- schedulerName: {}\n", yaml_text(o.offer.scheduler_name));
  append_extender(out, o);
  return out;
}

std::string json_text(const std::string& text) {
  json::Writer w;
  w.string(text);
  return std::move(w).take();
}

/// One member a line, so that people can read and change it.
std::string render_policy(const RenderOptions& o) {
  const Plan plan = plan_of(o);
  std::vector<std::string> members;
  const auto add = [&](std::string_view key, const std::string& json) {
    members.push_back(fmt::format("    \"{}\": {}", key, json));
  };
  add("urlPrefix", json_text(o.url));
  add("enableHttps", is_https(o.url) ? "true" : "false");
  if (is_https(o.url)) {
    add("tlsConfig", o.insecure ? std::string("{\"insecure\": true}")
                                : fmt::format("{{\"caFile\": {}}}", json_text(o.ca_file)));
  }
  add("filterVerb", "\"filter\"");
  if (!plan.prioritize.empty()) {
    add("prioritizeVerb", json_text(plan.prioritize));
    add("weight", fmt::to_string(plan.weight));
  }
  add("bindVerb", "\"bind\"");
  if (o.preempt) add("preemptVerb", "\"preempt\"");
  add("nodeCacheCapable", "true");
  add("httpTimeout", fmt::to_string(std::chrono::nanoseconds(plan.timeout).count()));
  add("ignorable", "false");
  std::vector<std::string> resources;
  for (const OfferedResource& resource : o.offer.resources) {
    resources.push_back(fmt::format("      {{\"name\": {}, \"ignoredByScheduler\": true}}",
                                    json_text(resource.name)));
  }
  if (!resources.empty())
    add("managedResources", fmt::format("[\n{}\n    ]", text::join(resources, ",\n")));
  return fmt::format(
      "{{\n  \"kind\": \"Policy\",\n  \"apiVersion\": \"v1\",\n  \"extenders\": [{{\n{}\n  "
      "}}]\n}}\n",
      text::join(members, ",\n"));
}

}  // namespace

seconds timeout_for(std::chrono::milliseconds lock_wait) {
  return std::max(kShortestTimeout, std::chrono::ceil<seconds>(lock_wait) + kMargin);
}

std::string flags_beside_policy(const RenderOptions& o) {
  if (!newest_form(o.kube_minor).policy) return {};
  std::string flags = fmt::format("--policy-config-file=FILE --scheduler-name={} --leader-elect={}",
                                  o.offer.scheduler_name, o.offer.leader_elect);
  if (o.offer.leader_elect) {
    flags += fmt::format(
        " --leader-elect-resource-name={} --leader-elect-resource-namespace={}"
        " --leader-elect-resource-lock=leases",
        o.offer.lease_name, o.offer.lease_namespace);
  }
  return flags;
}

Result<std::string> render_scheduler_config(const RenderOptions& options) {
  RenderOptions o = options;
  if (!places_devices(o.offer.program)) o.offer.resources.clear();
  if (Status s = check_options(o); !s) return tl::unexpected(s.error());
  const ConfigForm& form = newest_form(o.kube_minor);
  return form.policy ? render_policy(o) : render_configuration(o, form);
}

}  // namespace tessera::setup
