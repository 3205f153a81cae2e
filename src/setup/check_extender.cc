#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "setup/check_parts.h"
#include "setup/nearest.h"
#include "setup/render.h"

namespace tessera::setup {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::string_view kRefuses = "kube-scheduler refuses the file and does not start";
constexpr seconds kDefaultTimeout{5};
/// No network answers faster; a Policy's timeout below it was meant as seconds.
constexpr nanoseconds kSilly{1'000'000};

/// "/prioritize and /priority"
std::string paths_of(const std::vector<std::string_view>& verbs) {
  std::string out;
  for (const std::string_view verb : verbs) {
    if (!out.empty()) out += " and ";
    out += fmt::format("/{}", verb);
  }
  return out;
}

std::string_view without_slashes(std::string_view verb) {
  while (!verb.empty() && verb.front() == '/') verb.remove_prefix(1);
  return verb;
}

/// True when the verb is set and served; else says what comes of it, if it is set.
bool check_verb(Checker& c, const ExtenderConfig& e, std::string_view field,
                const Given<std::string>& verb, const std::vector<std::string_view>& served,
                std::string_view happens) {
  if (verb.value.empty()) return false;
  if (std::find(served.begin(), served.end(), verb.value) != served.end()) return true;
  std::string_view meant = nearest(without_slashes(verb.value), served);
  if (meant.empty() && !served.empty()) meant = served.front();
  const std::string offers =
      served.empty() ? std::string("no such call") : fmt::format("only {}", paths_of(served));
  c.say(Severity::kError, verb.line, fmt::format("{}.{}", e.path, field), verb.value,
        fmt::format("{} serves {}, so that kube-scheduler gets code 404: {}",
                    name_of(c.offer.program), offers, happens),
        meant.empty() ? fmt::format("nothing: leave {} out", field)
                      : fmt::format("{}: {}", field, meant));
  return false;
}

void check_filter(Checker& c, const ExtenderConfig& e, const Verbs& verbs) {
  check_verb(c, e, "filterVerb", e.filter_verb, verbs.filter,
             "every attempt to schedule a pod that it is asked about fails (event "
             "FailedScheduling, \"failed filter with extender\"), and the pod stays Pending");
  if (!e.filter_verb.value.empty()) return;
  c.say(Severity::kError, e.filter_verb.line ? e.filter_verb.line : e.line, e.path + ".filterVerb",
        "",
        places_devices(c.offer.program)
            ? "missing: every node passes, kube-scheduler picks one without looking at devices, "
              "and the bind is refused where the pod does not fit"
            : "missing: pods go to nodes without the label as well",
        "filterVerb: filter");
}

void check_bind(Checker& c, const ExtenderConfig& e, const Verbs& verbs) {
  check_verb(c, e, "bindVerb", e.bind_verb, verbs.bind,
             "no pod that it is asked about is bound; each is tried again and again");
  if (!e.bind_verb.value.empty() || !places_devices(c.offer.program)) return;
  c.say(Severity::kError, e.bind_verb.line ? e.bind_verb.line : e.line, e.path + ".bindVerb", "",
        "missing: kube-scheduler binds the pod itself, no device is written into it, and the node "
        "agent has nothing to hand to its containers",
        "bindVerb: bind");
}

void check_scores_of_labels(Checker& c, const ExtenderConfig& e, bool scores) {
  const bool only_one = e.filter_verb.value == "filter_onlyone";
  if (scores && only_one) {
    c.say(Severity::kHint, e.prioritize_verb.line, e.path + ".prioritizeVerb",
          e.prioritize_verb.value,
          "never called: filter_onlyone leaves one node, and one node is not scored");
  } else if (!scores && !only_one && e.prioritize_verb.value.empty()) {
    c.say(Severity::kWarning, e.line, e.path + ".prioritizeVerb", "",
          "missing: nodes without the label are left out, but the larger number is not preferred",
          fmt::format("prioritizeVerb: {}, weight: 1", verbs_of(c.offer.program).prioritize[0]));
  }
}

void check_prioritize(Checker& c, const ExtenderConfig& e, const Verbs& verbs) {
  const bool served = check_verb(c, e, "prioritizeVerb", e.prioritize_verb, verbs.prioritize,
                                 "it drops the scores without an event (a line in its log from "
                                 "-v=5 on) and chooses by its own "
                                 "plugins alone");
  if (!places_devices(c.offer.program)) return check_scores_of_labels(c, e, served);
  if (c.offer.answer == Answer::kScored && e.prioritize_verb.value.empty()) {
    c.say(Severity::kError, e.prioritize_verb.line ? e.prioritize_verb.line : e.line,
          e.path + ".prioritizeVerb", "",
          "missing, and --answer=scored returns every node that fits: kube-scheduler chooses "
          "among them without our scores, the device policy decides nothing",
          fmt::format("prioritizeVerb: prioritize, weight: {}", kScoredWeight));
  }
  if (c.offer.answer == Answer::kSingle && served) {
    c.say(Severity::kHint, e.prioritize_verb.line, e.path + ".prioritizeVerb",
          e.prioritize_verb.value,
          "never called: --answer=single returns one node, and one node is not scored");
  }
}

void check_nodes(Checker& c, const ExtenderConfig& e) {
  if (e.node_cache_capable.value || !places_devices(c.offer.program)) return;
  const int line = e.node_cache_capable.given() ? e.node_cache_capable.line : e.line;
  const std::string path = e.path + ".nodeCacheCapable";
  if (c.offer.live_nodes) {
    c.say(Severity::kHint, line, path, "false",
          "every call carries all nodes as full objects, some 10 KB each: at thousands of nodes "
          "most of the time goes into them",
          "nodeCacheCapable: true");
    return;
  }
  c.say(Severity::kError, line, path, "false",
        c.offer.program == Program::kHami
            ? "HAMi takes a call with full nodes for a simulation and reserves nothing; it also "
              "reads 1 MiB at most, some hundred nodes"
            : "a call with full nodes is taken for a simulation: nothing is reserved, and pods "
              "scheduled at once are shown the same free slices",
        "nodeCacheCapable: true, or start serve with --nodes-form=live");
}

void check_timeout(Checker& c, const ExtenderConfig& e) {
  const Given<nanoseconds>& given = e.http_timeout;
  const bool default_counts = given.value.count() == 0;
  const nanoseconds timeout = default_counts ? nanoseconds(kDefaultTimeout) : given.value;
  const std::string path = e.path + ".httpTimeout";
  const bool policy = c.config.form->policy;
  const seconds good = timeout_for(c.offer.lock_wait);
  const std::string instead = policy ? fmt::format("httpTimeout: {}", nanoseconds(good).count())
                                     : fmt::format("httpTimeout: {}s", good.count());
  if (policy && timeout < kSilly) {
    c.say(Severity::kError, given.line, path, fmt::to_string(given.value.count()),
          "nanoseconds in a Policy: every call is given up before it is sent", instead);
    return;
  }
  if (!places_devices(c.offer.program) || c.offer.lock_wait.count() == 0) return;
  if (timeout > c.offer.lock_wait) return;
  const auto shown =
      format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  c.say(Severity::kWarning, given.line ? given.line : e.line, path, default_counts ? "" : shown,
        fmt::format("{}, and a bind waits up to {} for its node's lock (--node-lock-retry-timeout)"
                    ": kube-scheduler gives it up before, and the pod starts again from the queue",
                    default_counts ? "missing means 5s" : "too short",
                    format_duration(c.offer.lock_wait)),
        instead);
}

void check_https(Checker& c, const ExtenderConfig& e) {
  const bool https = e.url_prefix.value.starts_with("https://");
  const std::string field = c.config.form->policy ? "enableHttps" : "enableHTTPS";
  const TlsConfig& tls = e.tls.value;
  if (!https && e.enable_https.value) {
    c.say(Severity::kWarning, e.enable_https.line, fmt::format("{}.{}", e.path, field), "true",
          "only the scheme of urlPrefix decides, and it is http: pods and bindings go over the "
          "wire in the clear",
          "urlPrefix: https://… or " + field + ": false");
  }
  if (tls.insecure.value && tls.has_ca()) {
    c.say(Severity::kError, tls.insecure.line, e.path + ".tlsConfig.insecure", "true",
          fmt::format("given together with a certificate authority: {}", kRefuses),
          "insecure: false");
    return;
  }
  if (!https || tls.has_ca()) return;
  if (e.enable_https.value || tls.insecure.value) {
    c.say(Severity::kHint, tls.insecure.given() ? tls.insecure.line : e.enable_https.line,
          e.path + ".tlsConfig", "",
          "nobody checks the server's certificate, since no certificate authority is given",
          "tlsConfig: {caFile: …}");
  } else {
    c.say(Severity::kWarning, e.url_prefix.line, fmt::format("{}.{}", e.path, field), "",
          "not set and no certificate authority either: only a certificate that the system's own "
          "authorities signed is accepted; with any other every call fails",
          field + ": true, tlsConfig: {caFile: …}");
  }
}

}  // namespace

void check_any_extender(Checker& c, const ExtenderConfig& e) {
  const std::string& url = e.url_prefix.value;
  const int url_line = e.url_prefix.given() ? e.url_prefix.line : e.line;
  if (url.empty() || !(url.starts_with("http://") || url.starts_with("https://"))) {
    c.say(Severity::kError, url_line, e.path + ".urlPrefix", url,
          url.empty() ? "missing: calls have nowhere to go, and each pod that it is asked about "
                        "fails to be scheduled"
                      : "begins with neither http:// nor https://: no call can be sent, and each "
                        "pod that it is asked about fails to be scheduled",
          "urlPrefix: http://127.0.0.1:8080");
  }
  if (!e.prioritize_verb.value.empty() && e.weight.value < 1) {
    c.say(Severity::kError, e.weight.given() ? e.weight.line : e.prioritize_verb.line,
          e.path + ".weight", e.weight.given() ? fmt::to_string(e.weight.value) : "",
          fmt::format("not above 0 while prioritizeVerb is set: {}", kRefuses),
          fmt::format("weight: {}", places_devices(c.offer.program) ? kScoredWeight : 1));
  }
  check_https(c, e);
}

void check_our_extender(Checker& c, const ExtenderConfig& e) {
  const Verbs verbs = verbs_of(c.offer.program);
  check_filter(c, e, verbs);
  check_bind(c, e, verbs);
  check_prioritize(c, e, verbs);
  check_verb(c, e, "preemptVerb", e.preempt_verb, verbs.preempt,
             "preemption ends with an error for every pod that it is asked about");
  check_nodes(c, e);
  check_timeout(c, e);
  if (!e.ignorable.value) return;
  const bool devices = places_devices(c.offer.program);
  c.say(devices ? Severity::kError : Severity::kWarning, e.ignorable.line, e.path + ".ignorable",
        "true",
        devices ? "while the server does not answer, kube-scheduler passes it by and binds pods "
                  "itself, on any node and without devices"
                : "while the server does not answer, pods go to any node, whatever its label",
        "ignorable: false");
}

void check_binders(Checker& c) {
  std::vector<const ExtenderConfig*> binders;
  for (const ExtenderConfig& e : c.config.extenders.value) {
    if (!e.bind_verb.value.empty()) binders.push_back(&e);
  }
  if (binders.size() < 2) return;
  c.say(Severity::kError, binders[1]->bind_verb.line, binders[1]->path + ".bindVerb",
        binders[1]->bind_verb.value,
        fmt::format("{} has one as well, and only one extender may bind: {}", binders[0]->path,
                    kRefuses),
        "bindVerb only for the extender that places devices");
}

}  // namespace tessera::setup
