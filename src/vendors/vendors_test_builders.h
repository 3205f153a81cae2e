/// Small clusters for tests of vendors: nodes and pods as the API server would show them, decided
/// on by core::place. For tests only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/place.h"
#include "policies/registry.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

namespace tessera::vendors {

inline Vendors vendors_from(std::string_view yaml) {
  return std::move(*Vendors::make(parse_device_config(yaml, {.ascend = true}).config));
}

inline k8s::Container container_of(k8s::StringMap limits, bool init = false) {
  k8s::Container c;
  c.name = init ? "i" : "c";
  c.init = init;
  c.limits = std::move(limits);
  return c;
}

inline k8s::Pod pod_of(std::vector<k8s::Container> containers, k8s::StringMap annotations = {}) {
  k8s::Pod pod;
  pod.ns = "team";
  pod.name = "p";
  pod.uid = "uid-p";
  pod.containers = std::move(containers);
  pod.annotations = std::move(annotations);
  return pod;
}

inline k8s::Pod pod_asking(k8s::StringMap limits, k8s::StringMap annotations = {}) {
  return pod_of({container_of(std::move(limits))}, std::move(annotations));
}

struct Placed {
  std::string node;        ///< "" = refused
  k8s::StringMap written;  ///< pod annotations of the decision
  std::string refusal;     ///< text of the first candidate, or why the pod cannot be decided on
  core::NodeKey key;
  double score = 0;
  core::Reject reject;

  std::string text(std::string_view annotation) const {
    const std::string* value = k8s::find(written, annotation);
    return value == nullptr ? "" : *value;
  }
};

class SceneOfVendors {
 public:
  explicit SceneOfVendors(Vendors vendors)
      : vendors_(std::move(vendors)), cluster_(vendors_.rules()) {
    defaults_.node = policies::find_node_policy("binpack");
    defaults_.devices = {policies::find_device_policy("spread")};
    defaults_.words = {"spread", "binpack"};
  }
  explicit SceneOfVendors(std::string_view yaml) : SceneOfVendors(vendors_from(yaml)) {}

  const Vendors& vendors() const { return vendors_; }
  const core::Cluster& cluster() const { return cluster_; }
  void use_mode(core::ScoreMode mode) { defaults_.mode = mode; }

  /// `counted` is both allocatable and capacity. Returns the problems of the reading.
  std::vector<std::string> add_node(const std::string& name, k8s::StringMap annotations,
                                    k8s::StringMap counted) {
    k8s::Node node;
    node.name = name;
    node.annotations = std::move(annotations);
    node.allocatable = counted;
    node.capacity = std::move(counted);
    NodeReading reading = vendors_.read_node(node);
    candidates_.push_back(cluster_.set_node(std::move(reading.spec)));
    return std::move(reading.problems);
  }

  /// A running pod that holds what its annotations say.
  Status add_running(const std::string& uid, const std::string& node, k8s::Pod pod) {
    pod.uid = uid;
    pod.node_name = node;
    auto allocation = vendors_.decode(pod);
    if (!allocation) return tl::unexpected(allocation.error());
    cluster_.confirm({uid}, std::move(*allocation));
    return {};
  }

  Placed place(const k8s::Pod& pod) const {
    Placed out;
    const auto demand = vendors_.demand(pod, defaults_);
    if (!demand) {
      out.refusal = demand.error().what;
      return out;
    }
    const auto outcome = core::place(cluster_, demand->request, candidates_);
    if (!outcome.decision) {
      out.reject = outcome.rejected.front().reject;
      out.refusal = out.reject.text();
      return out;
    }
    out.node = cluster_.node(outcome.decision->node).spec.name;
    out.key = outcome.decision->key;
    out.score = outcome.decision->score;
    out.written = vendors_.encode(outcome.decision->allocation, WallTime{});
    return out;
  }

 private:
  Vendors vendors_;
  PolicyDefaults defaults_;
  core::Cluster cluster_;
  std::vector<NodeId> candidates_;
};

}  // namespace tessera::vendors
