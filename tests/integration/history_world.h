/// A cluster for random histories: embedded API server with faults, agents that lie, die and lag,
/// the scheduler's server, which may be restarted, and a stand-in for kube-scheduler with calls in
/// parallel. What must hold is collected in words. Thread rule: as each part says; problems() from
/// any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "obs/metrics.h"
#include "service/server.h"
#include "sim/agents.h"
#include "sim/api_server.h"

namespace tessera::test {

struct HistoryPod {
  std::string ns, name, uid;
};

/// What was found wrong, and how many steps were made.
class Record {
 public:
  void problem(std::string what);
  std::vector<std::string> problems() const;
  void count(const std::string& event);
  std::uint64_t events() const;
  std::uint64_t count_of(const std::string& event) const;
  std::string summary() const;  ///< "bind 210, create 300, …"
  /// Which kinds of pods were bound, by the annotations they carry.
  void bound(const std::string& object);
  std::uint64_t bound_with(const std::string& what) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> problems_;
  std::map<std::string, std::uint64_t> counts_, kinds_;
};

/// What bound pods of a history must show.
inline constexpr const char* kInitKind = "init containers";
inline constexpr std::array<const char*, 5> kKinds = {
    "hami.io/vgpu-devices-allocated", "hami.io/vgpu-mig-allocations",
    "hami.io/xpu-devices-allocated", "hami.io/Ascend910B3-devices-allocated", kInitKind};

/// The server under test and the way to it; a restart swaps both under running calls.
class ServerSlot {
 public:
  ServerSlot(service::ServeOptions options, std::string api_url, const Clock& clock)
      : options_(std::move(options)), api_url_(std::move(api_url)), clock_(clock) {}
  ~ServerSlot() { stop(); }
  bool start();
  void stop();
  client::ApiResponse post(const std::string& path, std::string body);
  std::string self_check();
  std::string metrics_page();

 private:
  service::ServeOptions options_;
  const std::string api_url_;
  const Clock& clock_;
  obs::Metrics metrics_;
  std::unique_ptr<service::Server> server_;
  std::mutex mutex_;
  std::shared_ptr<client::ApiClient> client_;
};

/// Filters and binds pods from a queue on several connections, as kube-scheduler would: what is
/// refused comes back a few times.
class Schedulers {
 public:
  /// scored: binds to any of the nodes that a filter call answers, several filter calls before the
  /// first bind of a burst.
  Schedulers(ServerSlot& server, sim::ApiServer& api, std::vector<std::string> nodes,
             Record& record, int threads, bool scored);
  ~Schedulers();
  void add(HistoryPod pod);
  /// True once nobody works and nothing waits.
  bool idle(std::chrono::milliseconds limit);

 private:
  struct Task {
    HistoryPod pod;
    int tries = 0;
  };
  void work();
  std::vector<Task> next_tasks();
  /// The node to bind to, "" = none this time.
  std::string schedule(Task& task);
  void later(Task task, bool answered);
  /// The nodes that fit; false: no sound answer, to be tried again.
  bool filter(const HistoryPod& pod, std::vector<std::string>& fitting);
  void check_reasons(const HistoryPod& pod, const std::vector<std::string>& fitting,
                     const std::string& body);
  void check_scores(const HistoryPod& pod, const std::string& object,
                    const std::vector<std::string>& fitting);
  std::string pick(const std::vector<std::string>& nodes);
  void bind(Task task, const std::string& node);

  ServerSlot& server_;
  sim::ApiServer& api_;
  const std::vector<std::string> nodes_;
  Record& record_;
  const bool scored_;
  std::mutex mutex_;
  std::mt19937_64 random_{std::random_device{}()};
  std::deque<Task> queue_;
  std::map<std::string, std::string> bound_;  ///< uid -> node, of binds that were answered well
  int working_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class HistoryWorld {
 public:
  explicit HistoryWorld(bool scored = false);
  ~HistoryWorld();

  static constexpr std::chrono::milliseconds kLockTimeout{4'000};

  const std::vector<std::string>& nodes() const { return names_; }
  bool start();
  /// The pod's object without uid; created in the API server and queued.
  void create(const std::string& ns, const std::string& name, const std::string& object);
  void remove(const std::string& ns, const std::string& name, bool at_once);
  void write(std::string_view method, const std::string& path, const std::string& body = {},
             std::string_view type = "application/json");
  void restart_server();
  /// A node goes and comes back; only while nothing is under way.
  void replace_node(std::size_t index);

  /// Ends all faults, waits until everything has come to rest, and looks at every invariant.
  void checkpoint();
  /// Deletes all pods: nothing may be reserved or held afterwards.
  void empty_out();

  sim::ApiServer& api() { return *api_; }
  sim::Agents& agents() { return *agents_; }
  Record& record() { return record_; }

 private:
  void add_nodes();
  void audit_devices();
  void audit_locks();
  std::string list(const std::string& path);

  const bool scored_;
  SystemClock clock_;
  obs::Metrics metrics_;
  Record record_;
  std::unique_ptr<sim::ApiServer> api_;
  std::vector<sim::AgentVendor> vendors_;
  std::vector<sim::AgentNode> specs_;
  std::vector<std::string> names_;
  std::unique_ptr<client::ApiClient> agent_client_;
  std::unique_ptr<sim::Agents> agents_;
  std::unique_ptr<ServerSlot> server_;
  std::unique_ptr<Schedulers> schedulers_;
};

/// Waits at most `limit` for the condition.
bool comes_true(const std::function<bool()>& condition, std::chrono::milliseconds limit);

}  // namespace tessera::test
