/// The server's certificate: read from two files, read again when they change, handed out for new
/// connections. A pair that does not fit together never gets in; the old one stays. Old connections
/// keep the certificate with which they began. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

struct ssl_st;
struct ssl_ctx_st;

namespace tessera::http {

struct ClientCertificate;
/// After the handshake; null when the client was not asked.
std::shared_ptr<const ClientCertificate> client_certificate_of(ssl_st* session);

class CertificateStore {
 public:
  struct Files {
    std::string certificate, key;
    std::string client_ca;        ///< non-empty: clients are asked for a certificate signed by it
    bool client_required = true;  ///< false: others get in too
  };
  static Result<std::unique_ptr<CertificateStore>> load(Files files);

  /// Reads the files; unchanged content costs nothing more. Errors name the file.
  Status reload();
  /// As reload(), for the poll: logs what happened, a bad content once only.
  void poll();
  /// A new TLS session for one connection; the caller owns it. nullptr when OpenSSL has no memory.
  ssl_st* new_session() const;

 private:
  explicit CertificateStore(Files files) : files_(std::move(files)) {}
  struct Content {
    std::string certificate, key, client_ca;
    friend bool operator==(const Content&, const Content&) = default;
  };
  Result<Content> read() const;
  Result<std::shared_ptr<ssl_ctx_st>> build(const Content& content) const;
  Status reload(bool only_news, bool& changed);

  Files files_;
  mutable std::mutex mutex_;
  Content tried_;        // what the last attempt read, good or bad
  std::string refused_;  // why that was kept out; empty = it is in use
  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace tessera::http
