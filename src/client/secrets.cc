#include "client/secrets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "obs/log.h"

namespace tessera::client {
namespace {

constexpr std::size_t kSecretLimit = 1U << 20U;

Result<std::string> read_pem(const std::string& path) {
  Result<std::string> pem = read_file(path, kSecretLimit);
  if (pem && pem->find("-----BEGIN ") == std::string::npos) {
    return fail(Code::kInvalid, fmt::format("{} holds no PEM block", text::quote(path)));
  }
  return pem;
}

Result<std::string> read_token(const std::string& path) {
  Result<std::string> content = read_file(path, kSecretLimit);
  if (!content) return content;
  const std::string token(text::trim(*content));
  if (token.empty())
    return fail(Code::kInvalid, fmt::format("token file {} is empty", text::quote(path)));
  if (!is_token(token))
    return fail(Code::kInvalid,
                fmt::format("token file {} holds blanks or control characters", text::quote(path)));
  return token;
}

}  // namespace

bool is_token(std::string_view token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::optional<SecretStore::Stamp> SecretStore::stamp_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Stamp{info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ino,
               static_cast<std::uint64_t>(info.st_size)};
}

Result<const Secrets*> SecretStore::current(MonoTime now) {
  if (complete_ && checked_ && now - *checked_ < kCheckEvery) return &secrets_;
  checked_ = now;
  for (const Status& status : {refresh_token(now), refresh_ca(), refresh_pair()}) {
    if (status) continue;
    if (!complete_) return fail(status.error().code, status.error().what);
    log::warn("credential file not readable, the former content stays in use",
              {{"error", status.error().what}});
  }
  complete_ = true;
  return &secrets_;
}

Status SecretStore::refresh_token(MonoTime now) {
  if (token_read_ && now - *token_read_ < kTokenAge) return {};
  if (credentials_.token_file.empty()) {
    secrets_.token = credentials_.token;
    token_read_ = now;
    return {};
  }
  Result<std::string> token = read_token(credentials_.token_file);
  if (token) {
    secrets_.token = *std::move(token);
    token_read_ = now;
    return {};
  }
  if (secrets_.token.empty()) secrets_.token = credentials_.token;
  if (!secrets_.token.empty() && !complete_) {
    log::warn("token file not readable, the token given beside it is used",
              {{"error", token.error().what}});
    return {};
  }
  return fail(token.error().code, token.error().what);
}

Status SecretStore::refresh_ca() {
  if (!credentials_.ca_pem.empty()) {
    secrets_.ca_pem = credentials_.ca_pem;
    return {};
  }
  if (credentials_.ca_file.empty()) return {};
  const std::optional<Stamp> stamp = stamp_of(credentials_.ca_file);
  if (stamp && stamp == ca_stamp_) return {};
  Result<std::string> pem = read_pem(credentials_.ca_file);
  if (!pem) return fail(pem.error().code, pem.error().what);
  secrets_.ca_pem = *std::move(pem);
  ca_stamp_ = stamp;
  return {};
}

// Certificate and key are read together whenever one of them changed: they only work as a pair.
Status SecretStore::refresh_pair() {
  const auto content = [](const std::string& pem, const std::string& file) -> Result<std::string> {
    if (!pem.empty() || file.empty()) return pem;
    return read_pem(file);
  };
  const std::optional<Stamp> cert_stamp =
      credentials_.cert_file.empty() ? std::nullopt : stamp_of(credentials_.cert_file);
  const std::optional<Stamp> key_stamp =
      credentials_.key_file.empty() ? std::nullopt : stamp_of(credentials_.key_file);
  if (complete_ && cert_stamp == cert_stamp_ && key_stamp == key_stamp_) return {};
  Result<std::string> cert = content(credentials_.cert_pem, credentials_.cert_file);
  if (!cert) return fail(cert.error().code, cert.error().what);
  Result<std::string> key = content(credentials_.key_pem, credentials_.key_file);
  if (!key) return fail(key.error().code, key.error().what);
  secrets_.cert_pem = *std::move(cert);
  secrets_.key_pem = *std::move(key);
  cert_stamp_ = cert_stamp;
  key_stamp_ = key_stamp;
  return {};
}

}  // namespace tessera::client
