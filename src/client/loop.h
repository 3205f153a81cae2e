/// The thread behind ApiClient: takes what other threads send, starts what the buckets and the
/// parallel limit allow, drives libcurl, runs the callbacks. Thread rule: public functions from any
/// thread, everything else on the client's thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/api.h"
#include "client/lines.h"
#include "client/secrets.h"
#include "client/token_bucket.h"
#include "client/transfer.h"
#include "obs/metrics.h"

namespace tessera::client {

/// What is under way: a call or a stream.
struct Exchange {
  virtual ~Exchange() = default;
  ApiRequest request;
  std::unique_ptr<Transfer> transfer;  // after request: it reads the body from there
  MonoTime started;
};

struct Call final : Exchange {
  std::function<void(ApiResponse)> done;
  MonoTime deadline;
  int retries = 0;
};

/// Lets cancel() wait for a handler that is running; handlers run with the mutex held.
struct StreamGate {
  std::mutex running;
  std::atomic<bool> cancelled = false;
};

struct Stream final : Exchange {
  std::uint64_t id = 0;
  ApiClient::StreamHandlers handlers;
  std::chrono::milliseconds silence{0};
  MonoTime last_byte;
  std::shared_ptr<StreamGate> gate;
  LineSplitter lines{kMaxLine};
  static constexpr std::size_t kMaxLine = 64U << 20U;
};

struct ApiClient::Impl {
 public:
  Impl(Credentials credentials, ApiClientOptions options, obs::Metrics& metrics);
  ~Impl();
  void post(std::unique_ptr<Call> call);
  std::uint64_t post(std::unique_ptr<Stream> stream);
  void cancel(std::uint64_t stream);
  void after(std::chrono::milliseconds delay, std::function<void()> f);
  bool on_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }
  std::chrono::milliseconds timeout_of(const ApiRequest& request) const;

 private:
  using Timers = std::multimap<MonoTime, std::function<void()>>;
  struct Inbox {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::pair<MonoTime, std::function<void()>>> timers;
    std::vector<std::uint64_t> cancelled;
  };
  /// Calls that wait for a token and a place.
  struct Lane {
    TokenBucket bucket;
    std::size_t parallel_limit, queue_limit;
    std::deque<std::unique_ptr<Call>> waiting;
    std::size_t running = 0;

    bool may_start(MonoTime now) {
      return !waiting.empty() && running < parallel_limit && bucket.take(now);
    }
  };

  template <class F>
  void put(F&& change);
  void run();
  bool take_inbox();
  void enqueue(std::unique_ptr<Call> call);
  void run_timers(MonoTime now);
  void drop_overdue(MonoTime now);
  void start_calls(Lane& lane, MonoTime now);
  Status start(Call& call, MonoTime now);
  void start_stream(std::unique_ptr<Stream> stream);
  void watch_silence(MonoTime now);
  bool collect();
  void finished(Exchange& exchange, ApiResponse response);
  void end_call(std::unique_ptr<Call> call, ApiResponse response);
  bool retry_later(std::unique_ptr<Call>& call, const ApiResponse& response);
  void end_stream(std::unique_ptr<Stream> stream, ApiResponse response);
  void forget_stream(std::uint64_t id);
  void detach(Exchange& exchange);
  int wait_ms(MonoTime now);
  void count(const std::string& verb, std::string_view path, const ApiResponse& response,
             std::optional<std::chrono::nanoseconds> took);
  Lane& lane_of(const Call& call) { return call.request.low_priority ? low_ : ordinary_; }

  const ApiClientOptions options_;
  obs::Metrics& metrics_;
  SecretStore secrets_;
  void* multi_ = nullptr;
  Lane ordinary_, low_;
  std::unordered_map<Exchange*, std::unique_ptr<Call>> calls_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Stream>> streams_;
  Timers timers_;
  MonoTime next_sweep_;
  struct Measure {
    obs::Counter calls;
    obs::Histogram time;
  };
  std::map<std::array<std::string, 3>, Measure> measures_;  // by verb, resource, code

  std::mutex mutex_;  // guards what follows
  Inbox inbox_;
  std::unordered_map<std::uint64_t, std::shared_ptr<StreamGate>> gates_;
  std::uint64_t next_stream_ = 1;
  bool wake_sent_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tessera::client
