/// The few fields of Kubernetes objects that a scheduler of devices uses. Everything else is
/// dropped while parsing. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace tessera::k8s {

using StringMap =
    std::vector<std::pair<std::string, std::string>>;  ///< document order, unique keys
const std::string* find(const StringMap& map, std::string_view key);  ///< nullptr when absent

struct Container {
  std::string name;
  bool init = false;
  bool sidecar = false;  ///< init container with restartPolicy Always
  bool privileged = false;
  StringMap limits,
      requests;          ///< quantity texts as received; numbers are kept as their literal text
  bool has_env = false;  ///< an env array exists (webhook patches)
  bool has_limits = false, has_resources = false;
  bool asks_compute = false;  ///< cpu or memory above 0, in limits or requests
};

enum class Phase : std::uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };

struct Pod {
  std::string ns, name, generate_name, uid, resource_version;
  StringMap annotations, labels;  ///< filtered by Keep
  bool has_annotations = false;   ///< the object had an annotations map (JSON Patch needs to know)
  std::string node_name, scheduler_name, runtime_class, priority_class;
  std::string
      pod_group;  ///< label scheduling.x-k8s.io/pod-group or spec.schedulingGroup.podGroupName
  std::vector<Container> containers;  ///< init containers first: index = position
  Phase phase = Phase::kUnknown;
  bool terminating = false;   ///< deletionTimestamp is set
  bool has_deadline = false;  ///< spec.activeDeadlineSeconds is set
  bool best_effort = false;   ///< quality of service: no container asks cpu or memory
  bool init_finished =
      false;  ///< there are non-sidecar init containers and all ended with exit code 0
  std::optional<WallTime> unschedulable_since;  ///< lastTransitionTime of PodScheduled=False
  std::int64_t priority = 0;                    ///< spec.priority
  bool never_preempts = false;                  ///< spec.preemptionPolicy is Never
  std::int64_t grace_seconds = 30;              ///< spec.terminationGracePeriodSeconds
  std::string nominated_node;                   ///< status.nominatedNodeName
  std::optional<WallTime> created, started;     ///< creationTimestamp; status.startTime
  std::size_t init_count() const;
  bool finished() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
};

struct Node {
  std::string name, uid, resource_version;
  StringMap annotations, labels;    ///< filtered by Keep
  StringMap allocatable, capacity;  ///< filtered by Keep
};

/// Of coordination.k8s.io/v1: who leads.
struct Lease {
  std::string ns, name, uid, resource_version;
  std::string holder;                 ///< spec.holderIdentity, "" = nobody
  std::int64_t duration_seconds = 0;  ///< spec.leaseDurationSeconds, 0 = missing
  std::string renew_time;             ///< as text: only its changes are looked at
};

/// An expression of spec.scopeSelector, words as written.
struct ScopeExpression {
  std::string scope, match;  ///< operator: Exists, DoesNotExist, In, NotIn
  std::vector<std::string> values;
};

struct ResourceQuota {
  std::string ns, name, uid, resource_version;
  /// spec.hard, whole keys; of `limits.<name>` and `requests.<name>` those whose name Keep keeps.
  /// Values as received: they need not be quantities.
  StringMap hard;
  std::vector<std::string> scopes;
  std::vector<ScopeExpression> selectors;
};

/// metav1.LabelSelector: every label and every expression must hold; one without any selects all.
struct LabelSelector {
  struct Expression {
    std::string key, match;  ///< operator: In, NotIn, Exists, DoesNotExist
    std::vector<std::string> values;
  };
  StringMap labels;
  std::vector<Expression> expressions;
  /// An operator that nobody knows holds for nothing.
  bool selects(const StringMap& of) const;
};

struct PodDisruptionBudget {
  std::string ns, name, uid, resource_version;
  std::optional<LabelSelector> selector;  ///< nullopt: no pod is under it
  std::int64_t disruptions_allowed = 0;   ///< status.disruptionsAllowed
};

struct ObjectMeta {
  std::string ns, name, uid, resource_version;
};

/// What decoders keep. A null function keeps everything.
struct Keep {
  std::function<bool(std::string_view key)> annotation;
  std::function<bool(std::string_view key)> label;
  std::function<bool(std::string_view name)> resource;
};

}  // namespace tessera::k8s
