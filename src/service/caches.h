/// The watches: pods and nodes are trimmed on the API client's thread and travel to the books as
/// messages, in order. Thread rule: made, started and stopped by the owner; handlers run on the
/// client thread, what they post on the state thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/clock.h"
#include "client/api.h"
#include "client/reflector.h"
#include "service/books.h"
#include "service/facts.h"
#include "service/measures.h"
#include "service/task_thread.h"

namespace tessera::service {

class Caches {
 public:
  struct Options {
    std::string node_label_selector;
    std::uint64_t jitter_seed = 1;
  };
  Caches(client::ApiClient& api, TaskThread& state, const LiveReader& live, Books& books,
         const Measures& measures, const Clock& clock, const Options& options);
  ~Caches();

  void start();
  void stop();
  bool synced() const { return pods_synced_ && nodes_synced_; }
  /// What is still missing, in words; "" when synced.
  std::string missing() const;
  /// State thread: lists everything anew. `done` runs there once every list that began after this
  /// call is complete; a later call takes the place of an earlier one.
  void refresh(std::function<void()> done);

  std::function<void()> on_synced;  ///< state thread, once

 private:
  /// What a list under way has named; touched by the client thread only.
  struct Listing {
    bool running = false;
    MonoTime begin{};
    std::unordered_set<std::string> named;
  };
  client::ReflectorHandlers pod_handlers();
  client::ReflectorHandlers node_handlers();
  void pod_object(json::Value object);
  void pod_deleted(json::Value object);
  void node_object(json::Value object);
  void node_deleted(json::Value object);
  void list_begins(Listing& listing) const;
  /// State thread, behind everything that the list has posted.
  void list_complete(std::atomic<bool>& synced, MonoTime& listed, MonoTime begin);

  TaskThread& state_;
  const LiveReader& live_;
  Books& books_;
  const Measures& measures_;
  const Clock& clock_;
  Listing pod_listing_, node_listing_;
  std::atomic<bool> pods_synced_{false}, nodes_synced_{false};
  MonoTime pods_listed_{}, nodes_listed_{};  ///< when the last complete list began; state thread
  MonoTime refresh_asked_{};
  std::function<void()> refreshed_;
  std::unique_ptr<client::Reflector> pods_, nodes_;
};

}  // namespace tessera::service
