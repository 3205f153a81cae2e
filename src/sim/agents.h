/// Simulated node agents and kubelets for many nodes in one place: create nodes, register devices, serve Allocate one pod at a time per
/// node by the lock, run and finish pods, assert the invariants. Source: spec/node-agent-protocol.md section 10.
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

enum class Misbehaviour : std::uint8_t { kNone, kNeverAllocate, kFailAllocate, kKeepLock, kDropRegistration };

struct AgentOptions {
  std::chrono::milliseconds allocate_delay{20};
  /// How long a pod runs: annotation tessera.io/run-for (Go duration) wins; 0 = for ever.
  std::chrono::milliseconds run_for{0};
  bool delete_finished = false;
  std::string count_resource = "nvidia.com/gpu", register_key = "hami.io/node-nvidia-register", to_allocate_key = "hami.io/vgpu-devices-to-allocate",
              allocated_key = "hami.io/vgpu-devices-allocated", handshake_key = "hami.io/node-handshake";
};

class Agents {
 public:
  Agents(client::ApiClient& api, AgentOptions options, const Clock& clock);
  ~Agents();
  void add_node(const AgentNode& node);        ///< creates the Node object and registers
  void start();                                ///< begins to watch pods
  void stop();
  void misbehave(const std::string& node, Misbehaviour how);
  std::uint64_t served() const;                ///< pods whose Allocate succeeded
  std::vector<std::string> violations() const; ///< broken invariants of section 10.3, in words; empty = none
 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::sim
