/// One I/O thread: its listener and its connections, from accept to close.
/// Thread rule: open() before the thread starts; begin_drain() and cut_all() on the loop's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "http/connection.h"
#include "http/loop.h"
#include "http/router.h"
#include "http/sockets.h"
#include "http/tls.h"

namespace tessera::http {

/// How many connections there are, over all workers. Thread-safe.
class Census {
 public:
  explicit Census(std::size_t most) : most_(most) {}
  bool enter();  ///< false: full
  void leave();
  bool wait_empty(std::chrono::milliseconds limit);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t count_ = 0;
};

class Worker final : public ConnectionHost {
 public:
  Worker(const Router& router, const ConnectionLimits& limits, const CertificateStore* certificates,
         Census& census);
  ~Worker() override;

  Status open(const Address& address, bool shared_port);
  std::uint16_t port() const { return listener_->port(); }
  Loop& loop() { return *loop_; }
  void start();

  void begin_drain();
  void cut_all();
  void join();

 private:
  void forget(const std::shared_ptr<Connection>& connection) override;
  std::string_view date() override;
  void admit(std::unique_ptr<Transport> transport);
  bool make_room();
  void check_deadlines();

  const Router& router_;
  const ConnectionLimits limits_;
  const CertificateStore* const certificates_;
  Census& census_;
  const std::shared_ptr<Loop> loop_;
  std::unique_ptr<Listener> listener_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::string date_;
  std::chrono::sys_seconds date_time_{};
  std::thread thread_;
};

}  // namespace tessera::http
