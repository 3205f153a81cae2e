/// The labels of all nodes, for calls that name nodes only. Filled by list and watch from start()
/// on. Thread rule: any thread; handlers of waiting calls run on the client's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/api.h"
#include "client/reflector.h"
#include "json/reader.h"
#include "label_priority/label_watch.h"
#include "label_priority/rule.h"
#include "obs/metrics.h"

namespace tessera::label_priority {

class NodeCache {
 public:
  NodeCache(std::string label, LabelWatch& watch, obs::Metrics& metrics);
  ~NodeCache();

  /// Begins to list; once is enough, more do nothing. The client outlives stop().
  void start(client::ApiClient& api, std::uint64_t jitter_seed);
  void stop();  ///< calls that still wait are turned away

  bool filled() const { return filled_; }
  /// "" when filled or not started; else what is missing, in words.
  std::string missing() const;
  /// The server will not let us list: full nodes are served all the same.
  bool refused() const { return refused_ != 0; }

  /// kUnknownNode for names that nobody has told of.
  NodeLabel label_of(std::string_view node) const;

  /// Runs `done` when the labels are there ("") or when waiting is over (why), once.
  using Done = std::function<void(const std::string& problem)>;
  void when_filled(client::ApiClient& api, std::chrono::milliseconds limit, Done done);

 private:
  struct Waiting;
  void list_begins();
  void list_ends();
  void node_object(json::Value object);
  void node_gone(const std::string& name);
  void wake(const std::string& problem);
  void count_nodes();  ///< with the mutex held

  const std::string label_;
  const k8s::Keep keep_;
  LabelWatch& watch_;
  obs::Counter restarts_, undecodable_;
  obs::Gauge labelled_, invalid_, unlabelled_;
  std::unique_ptr<client::Reflector> reflector_;
  std::atomic<bool> filled_{false}, started_{false};
  std::atomic<int> refused_{0};
  bool listing_ = false;                   ///< on the client's thread, as the next one
  std::unordered_set<std::string> named_;  ///< by the list that is running
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, NodeLabel, std::less<>> labels_;
  std::vector<std::shared_ptr<Waiting>> waiting_;
};

}  // namespace tessera::label_priority
