/// Simulated node agents and kubelets for many nodes in one place: create nodes, register devices,
/// serve Allocate one pod at a time per node by the lock, run and finish pods, assert the
/// invariants. Source: spec/node-agent-protocol.md section 10. Thread rule: public functions from
/// any thread but the client's; add_node, start, stop and misbehave block on the API server.
///   Agents agents(api, {.allocate_delay = 20ms}, clock); agents.add_node({.name = "n1", .devices =
///   …}); agents.start();
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "core/device.h"

namespace tessera::sim {

struct AgentNode {
  std::string name;
  std::vector<core::Device> devices;
  std::int64_t cpu_milli = 64'000, memory_mib = 262'144;
};

enum class Misbehaviour : std::uint8_t {
  kNone,
  kNeverAllocate,     ///< the pod stays `allocating`, the lock stays
  kFailAllocate,      ///< bind-phase failed, lock released, the pod fails
  kKeepLock,          ///< success, but the lock stays
  kDropRegistration,  ///< the register annotation disappears and nothing is allocatable
};

struct AgentOptions {
  std::chrono::milliseconds allocate_delay{20};
  /// How long a pod runs: annotation tessera.io/run-for (Go duration) wins; 0 = for ever.
  std::chrono::milliseconds run_for{0};
  bool delete_finished = false;
  /// A lock older than this at the moment of Allocate is a broken invariant.
  std::chrono::milliseconds lock_timeout{300'000};
  std::string count_resource = "nvidia.com/gpu", register_key = "hami.io/node-nvidia-register",
              to_allocate_key = "hami.io/vgpu-devices-to-allocate",
              allocated_key = "hami.io/vgpu-devices-allocated";
  /// Non-empty: rewritten as `Reported <time>` every 30 s, as agents of the handshake vendors do.
  /// Newer agents do not write one.
  std::string handshake_key;
};

/// What live pods hold on one node, by the device texts the agents saw.
struct AgentNodeView {
  std::string name;
  std::vector<core::Device> devices;
  std::vector<core::Usage> used;  ///< parallel to devices
  std::size_t pods = 0;           ///< bound and not ended
};

class Agents {
 public:
  Agents(client::ApiClient& api, AgentOptions options, const Clock& clock);
  ~Agents();                               ///< stop()
  Status add_node(const AgentNode& node);  ///< creates the Node object and registers
  void start();                            ///< begins to watch pods
  void stop();
  void misbehave(const std::string& node, Misbehaviour how);
  std::uint64_t served() const;             ///< pods whose Allocate succeeded
  std::uint64_t finished() const;           ///< pods that ran to their end
  std::vector<AgentNodeView> view() const;  ///< in the order the nodes were added
  std::vector<std::string> violations()
      const;  ///< broken invariants of section 10.3, in words; empty = none
 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera::sim
