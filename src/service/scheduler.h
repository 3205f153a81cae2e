/// The parts of the running scheduler, put together in the order in which they need each other.
/// Thread rule: see each part; what is behind `state` belongs to the state thread.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "client/api.h"
#include "client/credentials.h"
#include "obs/metrics.h"
#include "service/binder.h"
#include "service/binding_writer.h"
#include "service/books.h"
#include "service/caches.h"
#include "service/events.h"
#include "service/facts.h"
#include "service/filter.h"
#include "service/lock_keeper.h"
#include "service/lock_writer.h"
#include "service/measures.h"
#include "service/ready_gate.h"
#include "service/scrape.h"
#include "service/serve_check.h"
#include "service/server.h"
#include "service/task_thread.h"

namespace tessera::service {

class Scheduler {
 public:
  Scheduler(const ServeOptions& options, ServePlan plan, const client::Credentials& credentials,
            const Clock& clock);
  ~Scheduler();

  void start();
  /// Two steps, so that answers can still go out between them: refuse and finish; then end the
  /// threads.
  void refuse_new_work();
  void stop();
  ScrapeFigures figures();  ///< state thread
  std::string self_check();

  const ServeOptions options;
  const Clock& clock;
  obs::Metrics metrics;
  LiveReader live;
  Measures measures;
  TaskThread state, scrape;
  std::unique_ptr<client::ApiClient> api;  // ended before what its callbacks use
  Books books;
  Events events;
  LockWriter locks;
  LockKeeper keeper;
  BindingWriter bindings;
  Binder binder;
  Filter filter;
  FilterCallPool filter_calls;
  std::unique_ptr<Caches> caches;
  ReadyGate gate;

 private:
  void connect();
  void tick();
};

}  // namespace tessera::service
