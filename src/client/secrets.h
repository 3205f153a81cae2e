/// The contents behind Credentials: token, CA, client certificate and key, read from their files
/// and read again as they rotate. A token file is read again every minute (and at once after the
/// server refused the token), the others when their file changed. While a file cannot be read, what
/// was read before stays in use. Thread rule: one owner; time is handed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "client/credentials.h"

namespace tessera::client {

struct Secrets {
  std::string token, ca_pem, cert_pem, key_pem;
};

/// A bearer token may hold visible ASCII only: anything else would break the header it travels in.
bool is_token(std::string_view token);

class SecretStore {
 public:
  explicit SecretStore(Credentials credentials) : credentials_(std::move(credentials)) {}

  const Credentials& credentials() const { return credentials_; }
  /// The secrets as of now; an error only when a file has never been readable. Valid until the next
  /// call.
  Result<const Secrets*> current(MonoTime now);
  /// The server answered 401: do not wait for the minute to pass.
  void token_refused() {
    token_read_.reset();
    checked_.reset();
  }

  static constexpr std::chrono::seconds kTokenAge{60};
  static constexpr std::chrono::seconds kCheckEvery{10};

 private:
  struct Stamp {
    std::int64_t seconds = 0, nanoseconds = 0;
    std::uint64_t inode = 0, size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static std::optional<Stamp> stamp_of(const std::string& path);
  Status refresh_token(MonoTime now);
  Status refresh_ca();
  Status refresh_pair();

  Credentials credentials_;
  Secrets secrets_;
  std::optional<MonoTime> token_read_, checked_;
  std::optional<Stamp> ca_stamp_, cert_stamp_, key_stamp_;
  bool complete_ = false;
};

}  // namespace tessera::client
