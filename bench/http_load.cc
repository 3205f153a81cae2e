#include "http_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace tessera::bench {
namespace {

constexpr timeval kPatience{30, 0};
constexpr std::size_t kLargestChunk = std::size_t{1} << 30;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

auto broken(const char* what) {
  return fail(Code::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)));
}

std::string_view field(std::string_view head, std::string_view name) {
  for (const auto line : text::split(head, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (text::equals_ignoring_case(line.substr(0, colon), name)) {
      return text::trim(line.substr(colon + 1));
    }
  }
  return {};
}

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

Nanoseconds Latencies::percentile(double percent) const {
  if (times_.empty()) return Nanoseconds(0);
  auto sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
  const auto place = static_cast<std::size_t>(std::max(rank, 1.0));
  return sorted[std::min(place, sorted.size()) - 1];
}

std::string Latencies::text() const {
  return fmt::format("p50 {:.3f} ms  p99 {:.3f} ms  min {:.3f} ms  max {:.3f} ms",
                     milliseconds(percentile(50)), milliseconds(percentile(99)),
                     milliseconds(percentile(0)), milliseconds(percentile(100)));
}

std::string post(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

std::string get(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
}

Result<std::unique_ptr<LoadClient>> LoadClient::connect(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return broken("socket");
  std::unique_ptr<LoadClient> client(new LoadClient(descriptor));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return broken("connect");
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  return client;
}

LoadClient::~LoadClient() { close(socket_); }

Status LoadClient::send_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return broken("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Status LoadClient::receive_until(std::size_t size) {
  std::array<char, 65536> buffer;
  while (received_.size() < size) {
    const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
    if (got < 0) return broken("receive");
    if (got == 0) return fail(Code::kUnavailable, "receive: the server closed the connection");
    received_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return {};
}

Result<std::size_t> LoadClient::receive_head() {
  for (;;) {
    const auto end = received_.find(kHeadEnd);
    if (end != std::string::npos) return end + kHeadEnd.size();
    if (auto status = receive_until(received_.size() + 1); !status) {
      return tl::unexpected(status.error());
    }
  }
}

Result<LoadClient::Answer> LoadClient::exchange(std::string_view request) {
  received_.clear();
  const auto start = std::chrono::steady_clock::now();
  if (auto status = send_all(request); !status) return tl::unexpected(status.error());
  const auto head_size = receive_head();
  if (!head_size) return tl::unexpected(head_size.error());
  const std::string head = received_.substr(0, *head_size);
  const auto status = text::parse_int(std::string_view(head).substr(9, 3), 32);
  if (!status) return fail(Code::kInvalid, "status line: " + status.error().what);
  const auto answer = [&](std::string body) {
    return Answer{static_cast<int>(*status), std::move(body),
                  std::chrono::steady_clock::now() - start};
  };
  if (text::equals_ignoring_case(field(head, "Transfer-Encoding"), "chunked")) {
    auto body = receive_chunks(*head_size);
    if (!body) return tl::unexpected(body.error());
    return answer(std::move(*body));
  }
  const auto length = text::parse_int(field(head, "Content-Length"), 64);
  if (!length) return fail(Code::kInvalid, "Content-Length: " + length.error().what);
  if (*length < 0) return fail(Code::kInvalid, fmt::format("Content-Length: {}", *length));
  if (auto whole = receive_until(*head_size + static_cast<std::size_t>(*length)); !whole)
    return tl::unexpected(whole.error());
  const auto end = std::chrono::steady_clock::now();
  return Answer{static_cast<int>(*status), received_.substr(*head_size), end - start};
}

/// SIZE in hexadecimal, line end, so many bytes, line end; the last one has the size 0.
Result<std::string> LoadClient::receive_chunks(std::size_t begin) {
  std::string body;
  for (;;) {
    std::size_t line_end = received_.find("\r\n", begin);
    while (line_end == std::string::npos) {
      if (auto more = receive_until(received_.size() + 1); !more)
        return tl::unexpected(more.error());
      line_end = received_.find("\r\n", begin);
    }
    std::size_t size = 0;
    const auto [last, problem] =
        std::from_chars(received_.data() + begin, received_.data() + line_end, size, 16);
    if (problem != std::errc() || size > kLargestChunk)
      return fail(Code::kInvalid, "chunk size: " + received_.substr(begin, line_end - begin));
    if (auto more = receive_until(line_end + 2 + size + 2); !more)
      return tl::unexpected(more.error());
    body.append(received_, line_end + 2, size);
    begin = line_end + 2 + size + 2;
    if (size == 0) return body;
  }
}

}  // namespace tessera::bench
