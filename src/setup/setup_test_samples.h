/// A file that is in order and the server it belongs to, for tests that spoil one thing.
#pragma once

#include <string>
#include <string_view>

#include "setup/render.h"

namespace tessera::setup {

inline Offer sample_offer() {
  Offer offer;
  offer.scheduler_name = "hami-scheduler";
  offer.kube_minor = 36;
  offer.resources = {{"example.com/card", true},
                     {"example.com/memory", false},
                     {"example.com/cores", false},
                     {"other.example/card", true}};
  return offer;
}

inline RenderOptions sample_options(int minor = 36, Answer answer = Answer::kSingle) {
  RenderOptions options;
  options.kube_minor = minor;
  options.offer = sample_offer();
  options.offer.kube_minor = minor;
  options.offer.answer = answer;
  return options;
}

/// In order for sample_offer().
inline const std::string kSample = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
profiles:
- schedulerName: hami-scheduler
extenders:
- urlPrefix: http://127.0.0.1:8080
  filterVerb: filter
  bindVerb: bind
  nodeCacheCapable: true
  httpTimeout: 30s
  managedResources:
  - {name: example.com/card, ignoredByScheduler: true}
  - {name: example.com/memory, ignoredByScheduler: true}
  - {name: example.com/cores, ignoredByScheduler: true}
  - {name: other.example/card, ignoredByScheduler: true}
)";

inline const std::string kSamplePolicy = R"({
  "kind": "Policy",
  "apiVersion": "v1",
  "extenders": [{
    "urlPrefix": "http://127.0.0.1:8080",
    "filterVerb": "filter",
    "bindVerb": "bind",
    "enableHttps": false,
    "nodeCacheCapable": true,
    "httpTimeout": 30000000000,
    "managedResources": [
      {"name": "example.com/card", "ignoredByScheduler": true},
      {"name": "example.com/memory", "ignoredByScheduler": true},
      {"name": "example.com/cores", "ignoredByScheduler": true},
      {"name": "other.example/card", "ignoredByScheduler": true}
    ]
  }]
}
)";

/// `text` with the first `from` exchanged; an empty result when `from` is not there, so that a test
/// with a mistyped row fails.
inline std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return {};
  return text.replace(at, from.size(), to);
}

}  // namespace tessera::setup
