/// For the tests of this module: a small blocking client that can misbehave, certificates made at
/// run time, a folder that goes away.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::http::testing {

struct Reply {
  int status = 0;  ///< 0: the connection ended before a whole answer came
  std::string head;
  std::map<std::string, std::string> headers;  ///< names lower-case
  std::string body;
};

struct KeyPair {
  std::string certificate, key;  ///< PEM
};

struct TlsSetup {
  bool on = false;
  int highest_version = 0;  ///< 0 = whatever OpenSSL offers
  KeyPair identity;         ///< a client certificate, when not empty
};

/// Every call returns within ten seconds.
class Client {
 public:
  explicit Client(std::uint16_t port, const TlsSetup& tls = {});
  ~Client();
  Client(Client&&) noexcept;

  bool connected() const;  ///< with TLS: the handshake was good
  bool send(std::string_view bytes);
  /// One answer; bytes beyond it wait for the next call.
  Reply receive(bool to_head_request = false);
  Reply exchange(std::string_view request);
  std::string receive_line();  ///< raw, with its line end
  std::string receive_some();  ///< "" at the end
  bool ends_within(
      std::chrono::milliseconds time);  ///< the server closed; what came before is dropped
  void finish_sending();
  void reset();                   ///< hangs up rudely
  std::string peer_name() const;  ///< common name in the server's certificate

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string post(std::string_view path, std::string_view body, std::string_view more_fields = {});
std::string get(std::string_view path, std::string_view more_fields = {});

struct CertificateOptions {
  const KeyPair* issuer = nullptr;  ///< null: signed by itself
  bool authority = false;           ///< may sign others
  bool expired = false;
  const char* usage = "";  ///< extended key usage, as OpenSSL spells it
};
KeyPair make_certificate(const std::string& common_name, const CertificateOptions& options = {});

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  void write(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path folder_;
};

/// Asks again and again until it is true or the time is over.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(5));

}  // namespace tessera::http::testing

#include <thread>

template <class Condition>
bool tessera::http::testing::eventually(Condition condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}
