/// The watches: pods, nodes, quotas and, where asked for, disruption budgets are trimmed on the API
/// client's thread and travel to the books as messages, in order. Thread rule: made, started and
/// stopped by the owner; handlers run on the client thread, what they post on the state thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "client/reflector.h"
#include "obs/metrics.h"
#include "service/books.h"
#include "service/budgets.h"
#include "service/facts.h"
#include "service/measures.h"
#include "service/task_thread.h"

namespace tessera::service {

class Caches {
 public:
  struct Options {
    std::string node_label_selector;
    std::uint64_t jitter_seed = 1;
    Budgets* budgets = nullptr;  ///< null: disruption budgets are not read
  };
  Caches(client::ApiClient& api, TaskThread& state, const LiveReader& live, Books& books,
         const Measures& measures, const Clock& clock, const Options& options);
  ~Caches();

  void start();
  void stop();
  /// State thread: nothing counts as synced until lists that are asked for from now on are
  /// complete. on_synced follows.
  void relist();
  /// relist(), and `done` once the lists are complete, before on_synced.
  void refresh(std::function<void()> done);
  /// The pictures asked for last are complete.
  bool synced() const;
  /// Complete pictures have been there once: good enough for readiness while fresh ones are
  /// fetched.
  bool filled() const { return filled_; }
  /// By resource, for the metrics.
  struct Completeness {
    std::string resource;
    bool complete = false;
  };
  std::vector<Completeness> completeness() const;
  /// What is still missing, in words; "" when synced.
  std::string missing() const;

  std::function<void()> on_synced;  ///< state thread, after the start and after each relist()

 private:
  using Names = std::unordered_set<std::string>;
  /// What a list under way has named.
  struct Listing {
    bool running = false;
    MonoTime begin{};
    std::uint64_t round = 0;
    Names named;
    UidHashes others;  ///< pods without devices
  };
  struct Source {
    std::string what;  ///< "pods"
    obs::Counter problems, undecodable;
    Listing listing;                         // client thread only
    std::atomic<std::uint64_t> complete{0};  // round of the last complete list
    std::atomic<bool> forbidden{false};      // the right to list it is missing, it is done without
    std::unique_ptr<client::Reflector> reflector;  // null: nobody asks for it
  };
  enum Kind : std::size_t { kPods, kNodes, kQuotas, kBudgets, kKinds };

  client::ReflectorHandlers handlers(Kind kind, void (Caches::*on_object)(json::Value),
                                     void (Caches::*on_delete)(json::Value));
  void list_begins(Source& source);
  void list_ends(Kind kind);
  void take_list(Kind kind, const Listing& list);
  void list_refused(Kind kind, int status);
  void mark_complete(Source& source, std::uint64_t round);
  bool complete(const Source& source) const {
    return source.reflector == nullptr || source.complete == round_;
  }
  void undecodable(Source& source, std::string_view name, const Error& error) const;

  void pod_object(json::Value object);
  void pod_deleted(json::Value object);
  void node_object(json::Value object);
  void node_deleted(json::Value object);
  void quota_object(json::Value object);
  void quota_deleted(json::Value object);
  void budget_object(json::Value object);
  void budget_deleted(json::Value object);

  TaskThread& state_;
  const LiveReader& live_;
  Books& books_;
  Budgets* budgets_;
  const Clock& clock_;
  std::atomic<std::uint64_t> round_{1};
  std::uint64_t told_ = 0;  // the round for which on_synced was called; state thread
  std::vector<std::function<void()>> waiting_;  // for the next complete pictures; state thread
  std::atomic<bool> filled_{false};
  std::array<Source, kKinds> sources_;
  obs::Gauge quota_watch_;
};

}  // namespace tessera::service
