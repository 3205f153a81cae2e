#include "tls_load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatienceMs = 30'000;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

auto broken(std::string_view what) {
  return fail(Code::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)));
}

struct FreeTls {
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
};

/// A file descriptor that closes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

Result<std::string_view> content_length(std::string_view head) {
  for (const auto line : text::split(head, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (text::equals_ignoring_case(line.substr(0, colon), "Content-Length"))
      return text::trim(line.substr(colon + 1));
  }
  return fail(Code::kInvalid, "an answer without Content-Length");
}

/// One connection and the request that is under way on it.
class Talk {
 public:
  static Result<std::unique_ptr<Talk>> open(SSL_CTX* context, std::uint16_t port);
  int descriptor() const { return socket_.get(); }
  std::string protocol() const {
    return fmt::format("{} {}", SSL_get_version(tls_.get()), SSL_get_cipher_name(tls_.get()));
  }
  Status send(std::string_view request);
  /// Takes what is there; true when the answer is whole.
  Result<bool> receive();
  std::string_view body() const { return std::string_view(received_).substr(head_size_); }
  Clock::duration time() const { return end_ - begin_; }

 private:
  Talk(Descriptor socket, SSL* tls) : socket_(std::move(socket)), tls_(tls) {}
  Result<bool> whole();
  Status wait_writable() const;

  const Descriptor socket_;
  const std::unique_ptr<SSL, FreeTls> tls_;
  std::string received_;
  std::size_t head_size_ = 0, size_ = 0;  // 0 = not known yet
  Clock::time_point begin_, end_;
};

Result<std::unique_ptr<Talk>> Talk::open(SSL_CTX* context, std::uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return broken("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return broken("connect");
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int number = socket.get();
  std::unique_ptr<Talk> talk(new Talk(std::move(socket), SSL_new(context)));
  SSL* tls = talk->tls_.get();
  if (tls == nullptr || SSL_set_fd(tls, number) != 1 || SSL_connect(tls) != 1)
    return fail(Code::kUnavailable, "the TLS handshake failed");
  if (fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) != 0) return broken("fcntl");
  return talk;
}

Status Talk::wait_writable() const {
  pollfd entry{socket_.get(), POLLOUT, 0};
  return poll(&entry, 1, kPatienceMs) == 1 ? Status() : broken("send");
}

Status Talk::send(std::string_view request) {
  received_.clear();
  head_size_ = size_ = 0;
  begin_ = Clock::now();
  for (;;) {
    const int sent = SSL_write(tls_.get(), request.data(), static_cast<int>(request.size()));
    if (sent > 0) return {};
    if (SSL_get_error(tls_.get(), sent) != SSL_ERROR_WANT_WRITE) return broken("send");
    if (auto status = wait_writable(); !status) return status;
  }
}

Result<bool> Talk::whole() {
  if (size_ == 0) {
    const auto end = received_.find(kHeadEnd);
    if (end == std::string::npos) return false;
    const std::string_view head = std::string_view(received_).substr(0, end);
    if (!head.starts_with("HTTP/1.1 200 "))
      return fail(Code::kInvalid, "an answer that is not 200: " + received_.substr(0, 200));
    const auto word = content_length(head);
    if (!word) return tl::unexpected(word.error());
    const auto length = text::parse_int(*word, 32);
    if (!length || *length < 0) return fail(Code::kInvalid, "Content-Length: not a length");
    head_size_ = end + kHeadEnd.size();
    size_ = head_size_ + static_cast<std::size_t>(*length);
  }
  return received_.size() >= size_;
}

Result<bool> Talk::receive() {
  std::array<char, 16384> buffer;
  for (;;) {
    const int got = SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) {
      if (SSL_get_error(tls_.get(), got) == SSL_ERROR_WANT_READ) return false;
      return fail(Code::kUnavailable, "receive: the server closed the connection");
    }
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    auto done = whole();
    if (!done || *done) {
      end_ = Clock::now();
      return done;
    }
  }
}

/// All connections of a run, on one epoll.
class Load {
 public:
  explicit Load(const TlsLoadOptions& options) : options_(options) {}
  Status open();
  /// So many calls from the first to the last answer; timed when there is somewhere to write it.
  Status drive(std::int64_t calls, Latencies* times);
  const Talk& first() const { return *talks_.front(); }

 private:
  Status begin(Talk& talk);
  Status take(Talk& talk, Latencies* times);

  const TlsLoadOptions& options_;
  std::unique_ptr<SSL_CTX, FreeTls> context_;
  Descriptor poll_{epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::unique_ptr<Talk>> talks_;
  std::size_t turn_ = 0;
  std::int64_t to_send_ = 0, under_way_ = 0;
};

Status Load::open() {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (context_ == nullptr || poll_.get() < 0) return broken("TLS load client");
  for (int i = 0; i < options_.connections; ++i) {
    auto talk = Talk::open(context_.get(), options_.port);
    if (!talk) return tl::unexpected(talk.error());
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = talk->get();
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, (*talk)->descriptor(), &event) != 0)
      return broken("epoll");
    talks_.push_back(std::move(*talk));
  }
  return {};
}

Status Load::begin(Talk& talk) {
  if (to_send_ == 0) return {};
  --to_send_;
  ++under_way_;
  const std::string& request = options_.requests[turn_++ % options_.requests.size()];
  return talk.send(request);
}

Status Load::take(Talk& talk, Latencies* times) {
  const auto done = talk.receive();
  if (!done) return tl::unexpected(done.error());
  if (!*done) return {};
  --under_way_;
  if (times != nullptr) times->add(std::chrono::duration_cast<Nanoseconds>(talk.time()));
  if (options_.check) {
    if (auto status = options_.check(talk.body()); !status) return status;
  }
  return begin(talk);
}

Status Load::drive(std::int64_t calls, Latencies* times) {
  to_send_ = calls;
  for (const auto& talk : talks_) {
    if (auto status = begin(*talk); !status) return status;
  }
  std::array<epoll_event, 64> events;
  while (under_way_ > 0) {
    const int count =
        epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), kPatienceMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(Code::kUnavailable, "no answer within 30 s");
    for (int i = 0; i < count; ++i) {
      auto& talk = *static_cast<Talk*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (auto status = take(talk, times); !status) return status;
    }
  }
  return {};
}

}  // namespace

Result<TlsLoadResult> run_tls_load(const TlsLoadOptions& options) {
  if (options.requests.empty() || options.connections < 1)
    return fail(Code::kInvalid, "TLS load: no request or no connection");
  Load load(options);
  TlsLoadResult result;
  if (auto status = load.open(); !status) return tl::unexpected(status.error());
  result.protocol = load.first().protocol();
  if (auto status = load.drive(options.warm_up, nullptr); !status)
    return tl::unexpected(status.error());
  if (options.warmed_up) options.warmed_up();
  const auto begin = Clock::now();
  if (auto status = load.drive(options.calls, &result.times); !status)
    return tl::unexpected(status.error());
  result.wall = Clock::now() - begin;
  return result;
}

}  // namespace tessera::bench
