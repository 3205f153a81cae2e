/// Talks to the kube-apiserver: one thread owns one libcurl multi handle; any thread may send.
/// Callbacks run on that thread and must not block. Ordinary calls pass a token bucket (qps,
/// burst), are retried on 429 with Retry-After and carry a deadline; streams do not count.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/credentials.h"
#include "obs/metrics.h"

namespace tessera::client {

struct ApiRequest {
  std::string method = "GET";
  std::string path;  ///< "/api/v1/nodes/n1?…"
  std::string body;
  std::string content_type = "application/json";
  /// From send() to the answer, waiting for the bucket and retries included; but each attempt has
  /// half of it on the wire, however long it has waited.
  std::chrono::milliseconds timeout{10'000};
  bool low_priority = false;  ///< events and the like: own bucket, dropped when its queue is full
  bool retry_429 = true;      ///< false: a 429 is an answer, not a wish to be asked again
  /// Asked on the client's thread right before each attempt; false: not sent, the answer is the
  /// error "no longer wanted". Empty: always. For writes whose right may end while they wait.
  std::function<bool()> still_wanted;
  /// Takes the body of a 2xx answer as it comes in, on the client's thread; the answer's own is
  /// empty then. An answer that breaks off has been told in part.
  std::function<void(std::string_view chunk)> on_body;
};

struct ApiResponse {
  int status = 0;     ///< 0: no answer, see error; an answer that broke off has both
  std::string body;   ///< has 64 bytes of spare capacity
  std::string error;  ///< transport error in words
  std::chrono::milliseconds retry_after{0};
  bool ok() const { return error.empty() && status >= 200 && status < 300; }
  /// "pods \"a\" not found" out of a Status body, else "code 500", else the transport error.
  std::string message() const;
};

struct ApiClientOptions {
  std::string user_agent;                        ///< "tessera/0.1.0"
  double qps = 200, burst = 400;                 ///< qps < 0 = no limit
  std::chrono::milliseconds default_timeout{0};  ///< --kube-timeout; 0 = per request
  int max_retries_429 = 5;
  std::size_t max_parallel = 64;        ///< ordinary calls on the wire at once
  double low_qps = 20, low_burst = 50;  ///< low_qps < 0 = no limit
  std::size_t low_parallel = 4, low_queue = 1000;
  bool background = false;  ///< the client's thread gives way to all others of the machine
};

class ApiClient {
 public:
  ApiClient(Credentials credentials, ApiClientOptions options, obs::Metrics& metrics);
  ~ApiClient();  ///< ends the thread; callbacks of calls still open are not run. Not from a
                 ///< callback

  void send(ApiRequest request, std::function<void(ApiResponse)> done);
  /// Blocks the calling thread; for tests and start-up, never on the state thread.
  ApiResponse call(ApiRequest request);

  /// Of one stream, in order: on_headers, on_line…, on_end.
  struct StreamHandlers {
    std::function<void(int status)> on_headers;
    std::function<void(std::string_view line)>
        on_line;  ///< one line without its end; the view is valid during the call
    std::function<void(ApiResponse)> on_end;  ///< status and, for errors, the body
  };
  std::uint64_t stream(ApiRequest request, StreamHandlers handlers,
                       std::chrono::milliseconds silence = std::chrono::seconds(90));
  /// No handler of the stream runs any more once this returns: it waits for one that is running,
  /// unless called by a handler. So do not hold a lock that a handler takes.
  void cancel(std::uint64_t stream);
  /// Runs f on the client thread after the delay (retries of reflectors).
  void after(std::chrono::milliseconds delay, std::function<void()> f);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::client
