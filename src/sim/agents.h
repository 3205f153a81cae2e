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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "core/device.h"
#include "sim/agents_vendor.h"

namespace tessera::sim {

struct AgentNode {
  std::string name;
  std::vector<core::Device> devices;  ///< `vendor` is the place in AgentOptions::vendors
  std::int64_t cpu_milli = 64'000, memory_mib = 262'144;
  /// Further annotations and labels of the node.
  std::vector<std::pair<std::string, std::string>> annotations = {}, labels = {};
};

enum class Misbehaviour : std::uint8_t {
  kNone,
  kNeverAllocate,       ///< the pod stays `allocating`, the lock stays
  kFailAllocate,        ///< bind-phase failed, lock released, the pod fails
  kKeepLock,            ///< success, but the lock stays
  kLate,                ///< Allocate takes late_delay
  kDead,                ///< the kubelet finds no agent: the pod fails, phase and lock stay
  kDropRegistration,    ///< the register annotation disappears and nothing is allocatable
  kNothingAllocatable,  ///< registered, but nothing is allocatable
  kUnhealthy,           ///< every card is reported as not healthy
  kShrunk,              ///< registers half the memory and one slot per card
};

/// Annotation of a pod: how long it runs, as a Go duration. Not under tessera.io/: what stands
/// there on a new pod is the scheduler's, and the webhook takes it off.
inline constexpr std::string_view kRunForKey = "simulation.tessera.io/run-for";

struct AgentOptions {
  std::chrono::milliseconds allocate_delay{20}, late_delay{2'000};
  /// How long a pod runs that does not say so itself (kRunForKey); 0 = for ever.
  std::chrono::milliseconds run_for{0};
  /// How long the init containers of a pod take; 0 = over by the first status.
  std::chrono::milliseconds init_for{0};
  bool delete_finished = false;
  /// The scheduler's node lock timeout. An agent that comes later has lost its lock and refuses the
  /// pod; a lock that is older and still there breaks an invariant (once lock_slack is over, too).
  std::chrono::milliseconds lock_timeout{300'000}, lock_slack{2'000};
  /// How long after the end of Allocate its lock may still be there.
  std::chrono::milliseconds lock_budget{20'000};
  /// How long after a change of registration pods may come that were placed by the one before.
  std::chrono::milliseconds registration_grace{60'000};
  /// How often agents with a handshake write `Reported <time>`.
  std::chrono::milliseconds handshake_period{30'000};
  std::vector<AgentVendor> vendors{nvidia_agent()};
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
  ~Agents();  ///< stop()
  /// Creates the Node object and registers; called again it registers anew.
  Status add_node(const AgentNode& node);
  void start();  ///< begins to watch pods
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
