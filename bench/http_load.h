/// A client for measurements: one kept-alive connection on loopback, blocking, nothing between the
/// socket and the clock.
///   auto client = LoadClient::connect(port); Latencies times;
///   times.add(client->exchange(post("/filter", body))->time);
/// Thread rule: one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::bench {

using Nanoseconds = std::chrono::nanoseconds;

class Latencies {
 public:
  void add(Nanoseconds time) { times_.push_back(time); }
  std::size_t count() const { return times_.size(); }
  /// The smallest time that at least `percent` of the calls did not pass; 0 gives the minimum, 100
  /// the maximum. Zero when empty.
  Nanoseconds percentile(double percent) const;
  /// "p50 0.123 ms  p99 0.456 ms  min 0.100 ms  max 1.234 ms"
  std::string text() const;

 private:
  std::vector<Nanoseconds> times_;
};

/// A whole HTTP/1.1 request, ready to be sent.
std::string post(std::string_view path, std::string_view body);
std::string get(std::string_view path);

class LoadClient {
 public:
  struct Answer {
    int status = 0;
    std::string body;
    Nanoseconds time{0};  ///< from before the first byte was sent until after the last one came
  };
  static Result<std::unique_ptr<LoadClient>> connect(std::uint16_t port);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;
  /// Errors: the connection broke, or 30 s passed, or the answer has neither a Content-Length nor
  /// chunks.
  Result<Answer> exchange(std::string_view request);

 private:
  explicit LoadClient(int socket) : socket_(socket) {}
  Status send_all(std::string_view bytes) const;
  Status receive_until(std::size_t size);
  Result<std::size_t> receive_head();
  Result<std::string> receive_chunks(std::size_t begin);

  int socket_;
  std::string received_;
};

}  // namespace tessera::bench
