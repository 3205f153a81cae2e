/// Listening and connected sockets, with or without TLS, without their library's types. Everything
/// here belongs to one Loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::http {

class CertificateStore;
struct ClientCertificate;
class Loop;

enum class IoResult : std::uint8_t {
  kOk,
  kEnd,
  kFailed
};  ///< kEnd: the peer closed its side in order

/// Whoever drives a Transport. Kept alive while an operation is under way.
class TransportUser {
 public:
  virtual ~TransportUser() = default;
  virtual void on_handshake(IoResult result) = 0;
  virtual void on_read(IoResult result, std::size_t bytes) = 0;
  virtual void on_write(IoResult result, std::size_t bytes) = 0;
};

/// One connection. At most one read and one write under way; their results never arrive from inside
/// the call. After close() the results of what was under way still arrive, as kFailed.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual bool secure() const = 0;
  /// After the handshake; null when the client was not asked for one.
  virtual std::shared_ptr<const ClientCertificate> client_certificate() = 0;
  /// Plain connections succeed at once.
  virtual void handshake(std::shared_ptr<TransportUser> user) = 0;
  virtual void read(std::shared_ptr<TransportUser> user, std::span<char> room) = 0;
  /// Writes some of the pieces, kMostPieces at most; their texts must stay where they are until
  /// on_write.
  virtual void write(std::shared_ptr<TransportUser> user,
                     std::span<const std::string_view> pieces) = 0;
  static constexpr std::size_t kMostPieces = 16;
  /// The peer reads an end. What read() brings afterwards is good for nothing but noticing that the
  /// peer has closed too.
  virtual void finish_sending(std::shared_ptr<TransportUser> user) = 0;
  virtual void close() = 0;
};

struct Address {
  std::string host;  ///< "" = all
  std::string port;
};
/// "host:port", ":port", "[v6]:port". Errors quote the text.
Result<Address> parse_address(std::string_view text);

class Listener {
 public:
  /// `shared_port`: other listeners of this process take connections from the same port.
  static Result<std::unique_ptr<Listener>> open(std::shared_ptr<Loop> loop, const Address& address,
                                                bool shared_port);
  ~Listener();
  std::uint16_t port() const;
  /// Calls back for every connection until close(). `certificates` null = plain.
  void accept(const CertificateStore* certificates,
              std::function<void(std::unique_ptr<Transport>)> on_connection);
  void close();

 private:
  struct Impl;
  explicit Listener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera::http
