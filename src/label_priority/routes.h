/// Which path does what. Source: spec/label-priority-extender.md section 2. Internal to the module.
#pragma once

#include <vector>

#include "base/clock.h"
#include "http/server.h"
#include "label_priority/binder.h"
#include "label_priority/kube_access.h"
#include "label_priority/label_watch.h"
#include "label_priority/measures.h"
#include "label_priority/node_cache.h"
#include "label_priority/server.h"
#include "obs/metrics.h"

namespace tessera::label_priority {

/// Everything that answers; members in the order in which they are made.
struct Extender {
  Extender(const Options& given, KubeAccess::Find find, const Clock& wall);

  /// Lists nodes from now on when there are credentials and somebody may ask by name.
  Status start_cache();
  std::string missing();  ///< what /readyz says; "" = nothing

  const Options options;
  const Clock& clock;
  obs::Metrics metrics;
  Measures measures;
  LabelWatch watch;
  NodeCache cache;
  KubeAccess kube;
  Binder binder;
};

/// Everything.
std::vector<http::Route> main_routes(Extender& extender);
/// /metrics and the probes only.
std::vector<http::Route> probe_routes(Extender& extender);

}  // namespace tessera::label_priority
