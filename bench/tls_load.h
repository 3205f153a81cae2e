/// Load over HTTPS: some kept-alive connections, each with one request under way at any time,
/// served by one thread, so that the client costs as little of a shared machine as it can.
///   TlsLoadOptions options{.port = port, .connections = 16, .requests = {post("/webhook", body)}};
///   options.check = [](std::string_view answer) { return Status(); };
///   auto found = run_tls_load(options);  // found->times, found->per_second()
/// Programs that use it link OpenSSL::SSL. The server's certificate is not looked at. Thread rule:
/// a call has one owner; several may run at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http_load.h"

namespace tessera::bench {

struct TlsLoadOptions {
  std::uint16_t port = 0;
  int connections = 16;
  std::int64_t calls = 10'000;        ///< that are timed, over all connections together
  std::int64_t warm_up = 1'000;       ///< before them
  std::vector<std::string> requests;  ///< whole HTTP requests, sent in turns; not empty
  /// The body of every answer with code 200, outside its own timing; an error ends the run.
  std::function<Status(std::string_view body)> check;
  std::function<void()> warmed_up;  ///< called once between the warm-up and the timed calls
};

struct TlsLoadResult {
  Latencies times;
  std::chrono::duration<double> wall{0};  ///< of the timed calls
  double per_second() const {
    return wall.count() > 0 ? static_cast<double>(times.count()) / wall.count() : 0;
  }
  std::string protocol;  ///< "TLSv1.3 TLS_AES_256_GCM_SHA384"
};

/// Errors: a connection broke, 30 s passed without an answer, a code other than 200, or the check.
Result<TlsLoadResult> run_tls_load(const TlsLoadOptions& options);

}  // namespace tessera::bench
