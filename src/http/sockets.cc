#include "http/sockets.h"

#ifdef __SANITIZE_THREAD__
// Asio's fences are unknown to ThreadSanitizer, its mutexes are not: it sees all that is ordered.
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "http/loop.h"
#include "http/tls.h"
#include "obs/log.h"

namespace tessera::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using User = std::shared_ptr<TransportUser>;

constexpr std::chrono::milliseconds kAcceptPause{50};

IoResult result_of(const ErrorCode& code) {
  if (!code) return IoResult::kOk;
  return code == asio::error::eof ? IoResult::kEnd : IoResult::kFailed;
}

/// What plain and TLS connections have in common, given an Asio stream.
template <class Stream>
void start_read(Stream& stream, User user, std::span<char> room) {
  stream.async_read_some(asio::buffer(room.data(), room.size()),
                         [user = std::move(user)](const ErrorCode& code, std::size_t bytes) {
                           user->on_read(result_of(code), bytes);
                         });
}

/// A sequence of buffers as Asio wants it.
class Buffers {
 public:
  explicit Buffers(std::span<const std::string_view> pieces)
      : count_(std::min(pieces.size(), buffers_.size())) {
    for (std::size_t i = 0; i < count_; ++i) buffers_[i] = asio::buffer(pieces[i]);
  }
  const asio::const_buffer* begin() const { return buffers_.data(); }
  const asio::const_buffer* end() const { return buffers_.data() + count_; }

 private:
  std::array<asio::const_buffer, Transport::kMostPieces> buffers_;
  std::size_t count_;
};

template <class Stream>
void start_write(Stream& stream, User user, std::span<const std::string_view> pieces) {
  stream.async_write_some(Buffers(pieces),
                          [user = std::move(user)](const ErrorCode& code, std::size_t bytes) {
                            user->on_write(result_of(code), bytes);
                          });
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(tcp::socket socket) : socket_(std::move(socket)) {}
  bool secure() const override { return false; }
  std::shared_ptr<const ClientCertificate> client_certificate() override { return nullptr; }
  void handshake(User user) override {
    asio::post(socket_.get_executor(),
               [user = std::move(user)] { user->on_handshake(IoResult::kOk); });
  }
  void read(User user, std::span<char> room) override {
    start_read(socket_, std::move(user), room);
  }
  void write(User user, std::span<const std::string_view> pieces) override {
    start_write(socket_, std::move(user), pieces);
  }
  void finish_sending(User) override {
    ErrorCode ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void close() override {
    ErrorCode ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(tcp::socket socket, ssl_st* session) : stream_(std::move(socket), session) {}
  bool secure() const override { return true; }
  std::shared_ptr<const ClientCertificate> client_certificate() override {
    return client_certificate_of(stream_.native_handle());
  }
  void handshake(User user) override {
    stream_.async_handshake(
        asio::ssl::stream_base::server,
        [user = std::move(user)](const ErrorCode& code) { user->on_handshake(result_of(code)); });
  }
  void read(User user, std::span<char> room) override {
    if (finishing_) {
      start_read(stream_.next_layer(), std::move(user), room);
      return;
    }
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [this, user = std::move(user), room](const ErrorCode& code, std::size_t bytes) mutable {
          if (code && finishing_ && stream_.next_layer().is_open()) {
            read(std::move(user), room);
          } else {
            user->on_read(result_of(code), bytes);
          }
        });
  }
  void write(User user, std::span<const std::string_view> pieces) override {
    start_write(stream_, std::move(user), pieces);
  }
  /// From here on what the peer still sends is only thrown away, and TLS, which would refuse data
  /// after its own end, has no more say.
  void finish_sending(User user) override {
    finishing_ = true;
    // Ends when the peer answers or closes; by then close_notify has long gone out.
    stream_.async_shutdown([this, user = std::move(user)](const ErrorCode&) {
      ErrorCode ignored;
      stream_.lowest_layer().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }
  void close() override {
    ErrorCode ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  asio::ssl::stream<tcp::socket> stream_;
  bool finishing_ = false;
};

Result<tcp::endpoint> resolve(asio::io_context& context, const Address& address) {
  if (address.host.empty()) return fail(Code::kInternal, "no host to resolve");
  tcp::resolver resolver(context);
  ErrorCode code;
  const auto found = resolver.resolve(address.host, address.port, tcp::resolver::passive, code);
  if (code || found.empty()) {
    return fail(Code::kInvalid, "listen address " + text::quote(address.host + ":" + address.port) +
                                    ": " + code.message());
  }
  return found.begin()->endpoint();
}

ErrorCode listen_on(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool shared_port) {
  ErrorCode code;
  acceptor.open(endpoint.protocol(), code);
  if (code) return code;
  acceptor.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), code);
  const int on = 1;
  if (!code && shared_port &&
      setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    code = ErrorCode(errno, boost::system::system_category());
  }
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) {
    ErrorCode ignored;
    acceptor.close(ignored);
  }
  return code;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto refuse = [&](const char* why) {
    return fail(Code::kInvalid, "listen address " + text::quote(text) + ": " + why);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("missing port");
  Address address;
  address.port = text.substr(colon + 1);
  auto host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return refuse("missing ']'");
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return refuse("no host between the brackets");
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 host needs brackets");
  }
  address.host = host;
  const auto port = text::parse_int(address.port, 32);
  if (!port || *port < 0 || *port > 65535) return refuse("the port must be 0 to 65535");
  return address;
}

struct Listener::Impl : std::enable_shared_from_this<Listener::Impl> {
  explicit Impl(std::shared_ptr<Loop> on) : loop(std::move(on)), acceptor(loop->context()) {}

  void accept_next();
  void hand_over(tcp::socket socket);

  std::shared_ptr<Loop> loop;
  tcp::acceptor acceptor;
  const CertificateStore* certificates = nullptr;
  std::function<void(std::unique_ptr<Transport>)> on_connection;
  std::uint16_t port = 0;
};

void Listener::Impl::accept_next() {
  acceptor.async_accept([self = shared_from_this()](const ErrorCode& code, tcp::socket socket) {
    if (!self->acceptor.is_open()) return;
    if (!code) {
      self->hand_over(std::move(socket));
      self->accept_next();
      return;
    }
    // Out of descriptors, mostly: a pause instead of a busy loop.
    log::warn("accept failed", {{"reason", code.message()}});
    self->loop->after(kAcceptPause, [self] {
      if (self->acceptor.is_open()) self->accept_next();
    });
  });
}

void Listener::Impl::hand_over(tcp::socket socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  if (certificates == nullptr) {
    on_connection(std::make_unique<PlainTransport>(std::move(socket)));
    return;
  }
  ssl_st* session = certificates->new_session();
  if (session == nullptr) return;  // no memory: this client may try again
  on_connection(std::make_unique<TlsTransport>(std::move(socket), session));
}

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(std::shared_ptr<Loop> loop, const Address& address,
                                                 bool shared_port) {
  auto impl = std::make_shared<Impl>(std::move(loop));
  ErrorCode code;
  if (address.host.empty()) {
    const auto number = static_cast<std::uint16_t>(*text::parse_int(address.port, 32));
    code = listen_on(impl->acceptor, tcp::endpoint(tcp::v6(), number), shared_port);
    // A machine without IPv6.
    if (code && code != asio::error::address_in_use) {
      code = listen_on(impl->acceptor, tcp::endpoint(tcp::v4(), number), shared_port);
    }
  } else {
    const auto endpoint = resolve(impl->loop->context(), address);
    if (!endpoint) return tl::unexpected(endpoint.error());
    code = listen_on(impl->acceptor, *endpoint, shared_port);
  }
  if (code) {
    return fail(
        Code::kUnavailable,
        "listen address " + text::quote(address.host + ":" + address.port) + ": " + code.message());
  }
  impl->port = impl->acceptor.local_endpoint(code).port();
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

std::uint16_t Listener::port() const { return impl_->port; }

void Listener::accept(const CertificateStore* certificates,
                      std::function<void(std::unique_ptr<Transport>)> on_connection) {
  impl_->certificates = certificates;
  impl_->on_connection = std::move(on_connection);
  impl_->accept_next();
}

void Listener::close() {
  ErrorCode ignored;
  impl_->acceptor.close(ignored);
}

}  // namespace tessera::http
