#include "client/loop.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <new>

#include "base/step_back.h"
#include "client/resource_path.h"

namespace tessera::client {
namespace {

constexpr long kIdleConnections = 80;
constexpr auto kRetryAfterCap = std::chrono::seconds(30);
constexpr auto kRetryAfterMissing = std::chrono::seconds(1);
constexpr auto kSweepEvery = std::chrono::milliseconds(100);
constexpr auto kLongestWait = std::chrono::seconds(10);

MonoTime now_mono() { return std::chrono::steady_clock::now(); }

// Signals belong to the program's own threads. SIGPIPE too: libcurl leaves it alone when told not
// to touch signals, and a blocked SIGPIPE turns a write to a closed connection into a plain error.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

ApiClient::Impl::Impl(Credentials credentials, ApiClientOptions options, obs::Metrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      secrets_(std::move(credentials)),
      ordinary_{TokenBucket(options_.qps, options_.burst, now_mono()),
                options_.max_parallel,
                SIZE_MAX,
                {},
                0},
      low_{TokenBucket(options_.low_qps, options_.low_burst, now_mono()),
           options_.low_parallel,
           options_.low_queue,
           {},
           0} {
  prepare_transport();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(static_cast<CURLM*>(multi_), CURLMOPT_PIPELINING,
                    static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(static_cast<CURLM*>(multi_), CURLMOPT_MAXCONNECTS, kIdleConnections);
  thread_ = std::thread([this] { run(); });
}

ApiClient::Impl::~Impl() {
  put([this] { stopping_ = true; });
  thread_.join();
  for (auto& [key, call] : calls_) detach(*call);
  for (auto& [id, stream] : streams_) detach(*stream);
  calls_.clear();
  streams_.clear();
  curl_multi_cleanup(static_cast<CURLM*>(multi_));
}

template <class F>
void ApiClient::Impl::put(F&& change) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    change();
    wake = !wake_sent_;
    wake_sent_ = true;
  }
  if (wake) curl_multi_wakeup(static_cast<CURLM*>(multi_));
}

std::chrono::milliseconds ApiClient::Impl::timeout_of(const ApiRequest& request) const {
  return options_.default_timeout.count() > 0 ? options_.default_timeout : request.timeout;
}

void ApiClient::Impl::post(std::unique_ptr<Call> call) {
  call->deadline = now_mono() + timeout_of(call->request);
  put([&] { inbox_.calls.push_back(std::move(call)); });
}

std::uint64_t ApiClient::Impl::post(std::unique_ptr<Stream> stream) {
  std::uint64_t id = 0;
  put([&] {
    id = next_stream_++;
    stream->id = id;
    gates_.emplace(id, stream->gate);
    inbox_.streams.push_back(std::move(stream));
  });
  return id;
}

void ApiClient::Impl::cancel(std::uint64_t stream) {
  std::shared_ptr<StreamGate> gate;
  put([&] {
    const auto found = gates_.find(stream);
    if (found == gates_.end()) return;
    gate = std::move(found->second);
    gates_.erase(found);
    gate->cancelled = true;
    inbox_.cancelled.push_back(stream);
  });
  if (gate == nullptr || on_own_thread()) return;
  const std::lock_guard until_handler_returns(gate->running);
}

void ApiClient::Impl::after(std::chrono::milliseconds delay, std::function<void()> f) {
  const MonoTime due = now_mono() + delay;
  put([&] { inbox_.timers.emplace_back(due, std::move(f)); });
}

void ApiClient::Impl::run() {
  block_signals();
  if (options_.background) step_back();
  while (take_inbox()) {
    const MonoTime now = now_mono();
    run_timers(now);
    drop_overdue(now);
    start_calls(ordinary_, now);
    start_calls(low_, now);
    int running = 0;
    curl_multi_perform(static_cast<CURLM*>(multi_), &running);
    watch_silence(now_mono());
    if (collect()) continue;  // places are free, and callbacks may have sent something
    curl_multi_poll(static_cast<CURLM*>(multi_), nullptr, 0, wait_ms(now_mono()), nullptr);
  }
}

bool ApiClient::Impl::take_inbox() {
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    std::swap(inbox, inbox_);
    wake_sent_ = false;
  }
  for (auto& [due, f] : inbox.timers) timers_.emplace(due, std::move(f));
  for (auto& call : inbox.calls) enqueue(std::move(call));
  for (auto& stream : inbox.streams) start_stream(std::move(stream));
  for (const std::uint64_t id : inbox.cancelled) forget_stream(id);
  return true;
}

void ApiClient::Impl::enqueue(std::unique_ptr<Call> call) {
  Lane& lane = lane_of(*call);
  if (lane.waiting.size() >= lane.queue_limit) {
    ApiResponse dropped;
    dropped.error = "dropped";
    end_call(std::move(call), std::move(dropped));
    return;
  }
  lane.waiting.push_back(std::move(call));
}

void ApiClient::Impl::run_timers(MonoTime now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::function<void()> f = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    f();
  }
}

void ApiClient::Impl::drop_overdue(MonoTime now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepEvery;
  std::vector<std::unique_ptr<Call>> overdue;
  for (Lane* lane : {&ordinary_, &low_}) {
    for (auto& call : lane->waiting) {
      if (call->deadline <= now) overdue.push_back(std::move(call));
    }
    std::erase(lane->waiting, nullptr);
  }
  for (auto& call : overdue) {
    ApiResponse response;
    response.error =
        fmt::format("no answer within {} ms: waited for the rate limit or a free connection",
                    timeout_of(call->request).count());
    end_call(std::move(call), std::move(response));
  }
}

void ApiClient::Impl::start_calls(Lane& lane, MonoTime now) {
  while (lane.may_start(now)) {
    std::unique_ptr<Call> call = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    if (const Status started = start(*call, now); !started) {
      ApiResponse response;
      response.error = started.error().what;
      end_call(std::move(call), std::move(response));
      continue;
    }
    ++lane.running;
    calls_.emplace(call.get(), std::move(call));
  }
}

Status ApiClient::Impl::start(Call& call, MonoTime now) {
  if (call.request.still_wanted && !call.request.still_wanted())
    return fail(Code::kUnavailable, "no longer wanted");
  const Result<const Secrets*> secrets = secrets_.current(now);
  if (!secrets) return tl::unexpected<Error>(secrets.error());
  // What has waited long would be broken off right away, after the server has begun to work on it.
  call.deadline = std::max(call.deadline, now + timeout_of(call.request) / 2);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - now);
  const Transfer::Options options{options_.user_agent, std::max(left, std::chrono::milliseconds(1)),
                                  false};
  call.transfer =
      std::make_unique<Transfer>(call.request, secrets_.credentials(), **secrets, options);
  call.transfer->set_tag(static_cast<Exchange*>(&call));
  if (call.request.on_body) {
    call.transfer->on_chunk = [&call](std::string_view chunk) {
      call.request.on_body(chunk);
      return true;
    };
  }
  call.started = now;
  if (curl_multi_add_handle(static_cast<CURLM*>(multi_), call.transfer->easy()) != CURLM_OK) {
    return fail(Code::kInternal, "cannot start the transfer");
  }
  return {};
}

void ApiClient::Impl::start_stream(std::unique_ptr<Stream> stream) {
  const MonoTime now = now_mono();
  stream->started = stream->last_byte = now;
  const Result<const Secrets*> secrets = secrets_.current(now);
  if (!secrets) {
    ApiResponse response;
    response.error = secrets.error().what;
    end_stream(std::move(stream), std::move(response));
    return;
  }
  const Transfer::Options options{options_.user_agent, std::chrono::milliseconds(0), true};
  stream->transfer =
      std::make_unique<Transfer>(stream->request, secrets_.credentials(), **secrets, options);
  Stream* raw = stream.get();
  raw->transfer->set_tag(static_cast<Exchange*>(raw));
  raw->transfer->on_headers = [raw](int status) {
    raw->last_byte = now_mono();
    const std::lock_guard lock(raw->gate->running);
    if (!raw->gate->cancelled && raw->handlers.on_headers) raw->handlers.on_headers(status);
  };
  raw->transfer->on_chunk = [raw](std::string_view chunk) {
    raw->last_byte = now_mono();
    const std::lock_guard lock(raw->gate->running);
    return raw->lines.feed(chunk, [raw](std::string_view line) {
      if (!raw->gate->cancelled && raw->handlers.on_line) raw->handlers.on_line(line);
      return !raw->gate->cancelled.load();
    });
  };
  curl_multi_add_handle(static_cast<CURLM*>(multi_), raw->transfer->easy());
  streams_.emplace(raw->id, std::move(stream));
}

void ApiClient::Impl::watch_silence(MonoTime now) {
  std::vector<std::uint64_t> silent;
  for (const auto& [id, stream] : streams_) {
    if (stream->silence.count() > 0 && now - stream->last_byte >= stream->silence)
      silent.push_back(id);
  }
  for (const std::uint64_t id : silent) {
    std::unique_ptr<Stream> stream = std::move(streams_.at(id));
    streams_.erase(id);
    detach(*stream);
    ApiResponse response = stream->transfer->finish(CURLE_OK);
    response.error = "silent";
    end_stream(std::move(stream), std::move(response));
  }
}

bool ApiClient::Impl::collect() {
  bool any = false;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(static_cast<CURLM*>(multi_), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const int code = message->data.result;
    auto* exchange = static_cast<Exchange*>(Transfer::tag_of(message->easy_handle));
    detach(*exchange);
    finished(*exchange, exchange->transfer->finish(code));
    any = true;
  }
  return any;
}

void ApiClient::Impl::finished(Exchange& exchange, ApiResponse response) {
  if (response.status == 401) secrets_.token_refused();
  if (const auto found = calls_.find(&exchange); found != calls_.end()) {
    std::unique_ptr<Call> call = std::move(found->second);
    calls_.erase(found);
    --lane_of(*call).running;
    count(call->request.method, call->request.path, response, now_mono() - call->started);
    if (!retry_later(call, response)) call->done(std::move(response));
    return;
  }
  const auto found = streams_.find(static_cast<Stream&>(exchange).id);
  std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  if (stream->lines.too_long())
    response.error = fmt::format("line is longer than {} bytes", Stream::kMaxLine);
  end_stream(std::move(stream), std::move(response));
}

void ApiClient::Impl::end_call(std::unique_ptr<Call> call, ApiResponse response) {
  count(call->request.method, call->request.path, response, std::nullopt);
  call->done(std::move(response));
}

// The server asked to come back: do so while retries and time allow, else the caller gets the
// answer as it is.
bool ApiClient::Impl::retry_later(std::unique_ptr<Call>& call, const ApiResponse& response) {
  const bool asked =
      response.status == 429 || (response.status == 503 && response.retry_after.count() > 0);
  if (response.status == 429 && !call->request.retry_429) return false;
  if (!asked || call->retries >= options_.max_retries_429) return false;
  std::chrono::milliseconds pause =
      response.retry_after.count() > 0 ? response.retry_after : kRetryAfterMissing;
  pause = std::min<std::chrono::milliseconds>(pause, kRetryAfterCap);
  const MonoTime due = now_mono() + pause;
  if (due >= call->deadline) return false;
  ++call->retries;
  call->transfer.reset();
  auto shared =
      std::make_shared<std::unique_ptr<Call>>(std::move(call));  // std::function must be copyable
  timers_.emplace(due,
                  [this, shared] { lane_of(**shared).waiting.push_front(std::move(*shared)); });
  return true;
}

void ApiClient::Impl::end_stream(std::unique_ptr<Stream> stream, ApiResponse response) {
  count("WATCH", stream->request.path, response, std::nullopt);
  {
    const std::lock_guard running(stream->gate->running);
    if (!stream->gate->cancelled && stream->handlers.on_end)
      stream->handlers.on_end(std::move(response));
  }
  const std::lock_guard lock(
      mutex_);  // only now: until here cancel() must find the gate to wait at
  gates_.erase(stream->id);
}

void ApiClient::Impl::forget_stream(std::uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  detach(*stream);
}

void ApiClient::Impl::detach(Exchange& exchange) {
  curl_multi_remove_handle(static_cast<CURLM*>(multi_), exchange.transfer->easy());
}

int ApiClient::Impl::wait_ms(MonoTime now) {
  std::chrono::nanoseconds wait = kLongestWait;
  if (!timers_.empty())
    wait = std::min<std::chrono::nanoseconds>(wait, timers_.begin()->first - now);
  for (Lane* lane : {&ordinary_, &low_}) {
    if (lane->waiting.empty()) continue;
    wait = std::min<std::chrono::nanoseconds>(wait, kSweepEvery);
    if (lane->running >= lane->parallel_limit) continue;
    wait = std::min<std::chrono::nanoseconds>(wait, lane->bucket.wait(now));
  }
  for (const auto& [id, stream] : streams_) {
    if (stream->silence.count() > 0)
      wait = std::min<std::chrono::nanoseconds>(wait, stream->last_byte + stream->silence - now);
  }
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(wait, std::chrono::nanoseconds(0)))
          .count());
}

void ApiClient::Impl::count(const std::string& verb, std::string_view path,
                            const ApiResponse& response,
                            std::optional<std::chrono::nanoseconds> took) {
  std::string code = "error";
  if (response.status != 0) code = std::to_string(response.status);
  if (response.error == "dropped") code = "dropped";
  const auto [entry, is_new] = measures_.try_emplace({verb, resource_of(path), code});
  Measure& measure = entry->second;
  if (is_new) {
    const obs::Labels labels{{"verb", verb}, {"resource", entry->first[1]}, {"code", code}};
    measure.calls =
        metrics_.counter("tessera_api_requests_total", "Calls to the API server.", labels);
    if (verb != "WATCH") {
      measure.time = metrics_.histogram("tessera_api_request_duration_seconds",
                                        "Time of a call to the API server on the wire.",
                                        obs::latency_bounds(), labels);
    }
  }
  measure.calls.increment();
  if (took) measure.time.observe(std::chrono::duration<double>(*took).count());
}

}  // namespace tessera::client
