/// Bodies that a node agent and a kubelet send. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "k8s/objects.h"
#include "sim/agents.h"

namespace tessera::sim {

std::string agent_node_object(const AgentNode& node, const AgentOptions& options, WallTime now);
/// The devices as an agent that lies registers them.
std::vector<core::Device> registered_devices(const AgentNode& node, Misbehaviour how);
/// Register annotations, one per vendor with devices on the node.
std::vector<std::pair<std::string, std::string>> registrations(
    const std::vector<core::Device>& devices, const AgentOptions& options);
/// `Reported <time>` as agents write it.
std::string reported(WallTime now);
/// {"status":{…}} with capacity, allocatable (count resource 0 when not offered) and conditions.
std::string agent_node_status(const AgentNode& node, const AgentOptions& options, bool offered,
                              WallTime now);
/// {"metadata":{…,"annotations":{key: value}}}; a null pointer removes the key. Empty uid and
/// version are left out.
struct AnnotationChange {
  std::string_view key;
  const std::string* value;
};
std::string annotations_patch(const std::vector<AnnotationChange>& changes, std::string_view uid,
                              std::string_view resource_version);

/// Strategic merge patches of a pod's status.
/// Init containers are at work: the first that is no sidecar runs, the rest waits.
std::string initialising_status(const k8s::Pod& pod, WallTime now);
std::string running_status(const k8s::Pod& pod, WallTime now);
std::string succeeded_status(const k8s::Pod& pod, WallTime now);
std::string failed_status(std::string_view reason, std::string_view message);

/// "…-to-allocate" after the last container was served: every entry empty.
std::string emptied(std::string_view to_allocate);

}  // namespace tessera::sim
