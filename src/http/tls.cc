#include "http/tls.h"

#include <array>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/read_file.h"
#include "base/text.h"
#include "http/server.h"
#include "obs/log.h"

namespace tessera::http {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

constexpr std::size_t kMaxFile = 1 << 20;

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  std::array<char, 256> buffer{};
  ERR_error_string_n(code, buffer.data(), buffer.size());
  ERR_clear_error();
  return code == 0 ? "unknown" : std::string(buffer.data());
}

// An encrypted key must be an error, not a question on the terminal.
int no_password(char*, int, int, void*) { return 0; }

Bio memory_bio(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::string> read_file(const char* kind, const std::string& path) {
  auto text = tessera::read_file(path, kMaxFile);
  if (!text) return fail(text.error().code, std::string(kind) + ": " + text.error().what);
  return text;
}

Status use_certificates(SSL_CTX* context, const std::string& pem, const std::string& path) {
  const Bio bio = memory_bio(pem);
  const Certificate leaf(PEM_read_bio_X509_AUX(bio.get(), nullptr, no_password, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return fail(Code::kInvalid, "certificate file " + text::quote(path) + ": " + openssl_reason());
  }
  while (X509* issuer = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, issuer) == 1) continue;
    X509_free(issuer);
    return fail(Code::kInvalid, "certificate file " + text::quote(path) + ": " + openssl_reason());
  }
  ERR_clear_error();  // the end of the file counts as an error there
  if (X509_cmp_current_time(X509_get0_notAfter(leaf.get())) < 0) {
    log::warn("certificate has expired", {{"cert_file", path}});
  }
  return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* in, unsigned int in_length, void*) {
  static constexpr std::array<unsigned char, 9> kHttp11 = {8,   'h', 't', 't', 'p',
                                                           '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_length, kHttp11.data(), kHttp11.size(), in, in_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/// The handshake goes on whatever the client showed; client_certificate_of() tells.
int go_on(int, X509_STORE_CTX*) { return 1; }

Status ask_for_client_certificates(SSL_CTX* context, const std::string& pem,
                                   const CertificateStore::Files& files) {
  const std::string& path = files.client_ca;
  const Bio bio = memory_bio(pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (const Certificate authority{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)}) {
    X509_STORE_add_cert(store, authority.get());
    SSL_CTX_add_client_CA(context, authority.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) {
    return fail(Code::kInvalid, "client CA file " + text::quote(path) + ": holds no certificate");
  }
  // An intermediate authority in the file is trusted by itself.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  if (files.client_required) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  } else {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, go_on);
  }
  // A resumed session would not be looked at again: every connection shows its certificate.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return {};
}

}  // namespace

std::shared_ptr<const ClientCertificate> client_certificate_of(ssl_st* session) {
  if (SSL_get_verify_mode(session) == SSL_VERIFY_NONE) return nullptr;
  auto shown = std::make_shared<ClientCertificate>();
  const X509* certificate = SSL_get0_peer_certificate(session);
  if (certificate == nullptr) {
    shown->problem = "none was shown";
    return shown;
  }
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  shown->name = name.data();
  const long result = SSL_get_verify_result(session);
  shown->verified = result == X509_V_OK;
  if (!shown->verified) shown->problem = X509_verify_cert_error_string(result);
  return shown;
}

Result<std::unique_ptr<CertificateStore>> CertificateStore::load(Files files) {
  std::unique_ptr<CertificateStore> store(new CertificateStore(std::move(files)));
  if (auto status = store->reload(); !status) return tl::unexpected(status.error());
  return store;
}

Result<CertificateStore::Content> CertificateStore::read() const {
  auto certificate = read_file("certificate file", files_.certificate);
  if (!certificate) return tl::unexpected(certificate.error());
  auto key = read_file("key file", files_.key);
  if (!key) return tl::unexpected(key.error());
  Content content{std::move(*certificate), std::move(*key), {}};
  if (files_.client_ca.empty()) return content;
  auto authority = read_file("client CA file", files_.client_ca);
  if (!authority) return tl::unexpected(authority.error());
  content.client_ca = std::move(*authority);
  return content;
}

Result<std::shared_ptr<ssl_ctx_st>> CertificateStore::build(const Content& content) const {
  const std::shared_ptr<ssl_ctx_st> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return fail(Code::kInternal, "TLS context: " + openssl_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (auto s = use_certificates(context.get(), content.certificate, files_.certificate); !s) {
    return tl::unexpected(s.error());
  }
  const Bio bio = memory_bio(content.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key) {
    return fail(Code::kInvalid, "key file " + text::quote(files_.key) + ": " + openssl_reason());
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return fail(Code::kInvalid, "the key in " + text::quote(files_.key) +
                                    " does not belong to the certificate in " +
                                    text::quote(files_.certificate) + ": " + openssl_reason());
  }
  if (files_.client_ca.empty()) return context;
  if (auto s = ask_for_client_certificates(context.get(), content.client_ca, files_); !s) {
    return tl::unexpected(s.error());
  }
  return context;
}

Status CertificateStore::reload(bool only_news, bool& changed) {
  auto content = read();
  const std::lock_guard lock(mutex_);
  if (content && *content == tried_ && context_) {
    if (refused_.empty() || only_news) return {};
    return fail(Code::kInvalid, refused_);
  }
  if (!content) {
    if (only_news && refused_ == content.error().what) return {};
    refused_ = content.error().what;
    tried_ = {};
    return tl::unexpected(content.error());
  }
  auto context = build(*content);
  tried_ = std::move(*content);
  refused_ = context ? "" : context.error().what;
  if (!context) return tl::unexpected(context.error());
  context_ = std::move(*context);
  changed = true;
  return {};
}

Status CertificateStore::reload() {
  bool changed = false;
  return reload(false, changed);
}

void CertificateStore::poll() {
  bool changed = false;
  const auto status = reload(true, changed);
  if (!status) {
    log::error("certificate kept out, the old one stays in use", {{"reason", status.error().what}});
  } else if (changed) {
    log::info("certificate reloaded", {{"cert_file", files_.certificate}});
  }
}

ssl_st* CertificateStore::new_session() const {
  std::shared_ptr<ssl_ctx_st> context;
  {
    const std::lock_guard lock(mutex_);
    context = context_;
  }
  SSL* session = SSL_new(context.get());
  if (session == nullptr) ERR_clear_error();
  return session;
}

}  // namespace tessera::http
