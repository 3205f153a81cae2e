/// The moving part of Agents: all state behind one mutex, every API call asynchronous, so that one
/// client thread serves thousands of nodes.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/reflector.h"
#include "sim/agents.h"
#include "sim/agents_checker.h"

namespace tessera::sim {

struct Agents::Impl : std::enable_shared_from_this<Agents::Impl> {
  Impl(client::ApiClient& api, AgentOptions options, const Clock& clock);

  Status add_node(const AgentNode& node);
  void start();
  void stop();
  void misbehave(const std::string& node, Misbehaviour how);

  enum class Stage : std::uint8_t { kNew, kQueued, kServing, kRunning, kEnded };
  struct PodEntry {
    k8s::Pod pod;
    Stage stage = Stage::kNew;
    bool listed = true;     ///< seen by the list under way
    bool deleting = false;  ///< our DELETE is under way
    bool stalled = false;   ///< an agent that never answers had it in its queue
    std::string lock;       ///< text of the node lock at the moment of Allocate
    std::string first_key;  ///< of the vendor that is served with the lock
  };
  struct NodeEntry {
    AgentNode spec;
    Misbehaviour how = Misbehaviour::kNone;
    std::deque<std::string> queue;  ///< uids in the order they were bound
    std::string serving;            ///< uid
    bool reporting = false;         ///< handshakes are written on a timer
  };

  // Watch events; each takes the mutex.
  void list_begin();
  void list_end();
  void object(json::Value value);
  void deleted(json::Value value);

  // The rest runs with the mutex held.
  void seen(k8s::Pod pod);
  void consider(PodEntry& entry);
  void consider_pending(PodEntry& entry);
  void serve_next(NodeEntry& node);
  void serve(const std::string& node, const std::string& uid);
  void confirm_owner(const std::string& node, const std::string& uid);
  bool too_late(const std::string& uid);
  void give_up(const std::string& node, const std::string& uid);
  void begin_allocate(const std::string& node, const std::string& uid);
  void allocate(const std::string& node, const std::string& uid);
  void allocated(const std::string& node, const std::string& uid, bool succeeded,
                 const client::ApiResponse& response);
  void serve_other_vendors(const std::string& uid);
  void fail_admission(PodEntry& entry, std::string_view why);
  void release_lock(const std::string& node, const std::string& uid, const std::string& ns,
                    const std::string& name, int tries);
  void check_lock_later(const k8s::Pod& pod, const std::string& lock);
  void end_serving(const std::string& node, const std::string& uid);
  void run(PodEntry& entry);
  void run_apps(const std::string& uid);
  void end_later(const PodEntry& entry);
  void remove(PodEntry& entry);
  void register_again(const AgentNode& spec, Misbehaviour how);  ///< without the mutex
  void report_handshakes(const std::string& node);
  void watch_locks();
  void forget(const std::string& uid);
  PodEntry* find(const std::string& uid);

  client::ApiRequest status_patch(const k8s::Pod& pod, std::string body) const;
  /// Sends again on 429, 5xx and lost connections; `done` runs with the mutex held and not after
  /// stop().
  void send(client::ApiRequest request, std::function<void(const client::ApiResponse&)> done,
            int tries = 8);
  void later(std::chrono::milliseconds delay, std::function<void()> f);

  client::ApiClient& api_;
  const AgentOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::unordered_map<std::string, NodeEntry> nodes_;
  std::vector<std::string> order_;                  ///< of the nodes, as they were added
  std::unordered_map<std::string, PodEntry> pods_;  ///< by uid
  /// A list is taken as a whole: what is gone must go before what came may be judged.
  std::vector<k8s::Pod> listing_;
  bool in_list_ = false;
  InvariantChecker checker_;
  std::uint64_t served_ = 0, finished_ = 0;
  std::unique_ptr<client::Reflector> reflector_;
};

}  // namespace tessera::sim
