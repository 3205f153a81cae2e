#include "http/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/text.h"

namespace tessera::http::testing {
namespace {

constexpr int kPatienceMs = 10'000;

int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  const timeval patience{kPatienceMs / 1000, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

void use_identity(SSL_CTX* context, const KeyPair& identity) {
  BIO* certificate = BIO_new_mem_buf(identity.certificate.data(), -1);
  BIO* key = BIO_new_mem_buf(identity.key.data(), -1);
  X509* x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  EVP_PKEY* pkey = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, x509);
  SSL_CTX_use_PrivateKey(context, pkey);
  X509_free(x509);
  EVP_PKEY_free(pkey);
  BIO_free(certificate);
  BIO_free(key);
}

std::string pem_of(X509* certificate, EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  if (certificate != nullptr) {
    PEM_write_bio_X509(bio, certificate);
  } else {
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void add_extension(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void sign(X509* certificate, EVP_PKEY* own_key, const KeyPair* issuer) {
  if (issuer == nullptr) {
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_sign(certificate, own_key, EVP_sha256());
    return;
  }
  BIO* text = BIO_new_mem_buf(issuer->certificate.data(), -1);
  BIO* key_text = BIO_new_mem_buf(issuer->key.data(), -1);
  X509* authority = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
  X509_set_issuer_name(certificate, X509_get_subject_name(authority));
  X509_sign(certificate, key, EVP_sha256());
  X509_free(authority);
  EVP_PKEY_free(key);
  BIO_free(text);
  BIO_free(key_text);
}

}  // namespace

struct Client::Impl {
  int socket = -1;
  SSL_CTX* context = nullptr;
  SSL* session = nullptr;
  bool usable = false;
  bool ended = false;
  std::string waiting;

  void start_tls(const TlsSetup& tls);
  bool fill();
  bool fill_until(std::string_view mark, std::size_t& position);
  bool fill_to(std::size_t size);
  std::string take(std::size_t size);
  bool receive_chunks(std::string& body);
};

void Client::Impl::start_tls(const TlsSetup& tls) {
  context = SSL_CTX_new(TLS_client_method());
  if (tls.highest_version != 0) {
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_max_proto_version(context, tls.highest_version);
  }
  if (!tls.identity.key.empty()) use_identity(context, tls.identity);
  session = SSL_new(context);
  SSL_set_fd(session, socket);
  usable = SSL_connect(session) == 1;
  ERR_clear_error();
}

bool Client::Impl::fill() {
  std::array<char, 65536> buffer{};
  const auto got = session != nullptr
                       ? static_cast<ssize_t>(SSL_read(session, buffer.data(), buffer.size()))
                       : recv(socket, buffer.data(), buffer.size(), 0);
  ERR_clear_error();
  if (got <= 0) {
    ended = true;
    return false;
  }
  waiting.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool Client::Impl::fill_until(std::string_view mark, std::size_t& position) {
  while ((position = waiting.find(mark)) == std::string::npos) {
    if (!fill()) return false;
  }
  return true;
}

bool Client::Impl::fill_to(std::size_t size) {
  while (waiting.size() < size) {
    if (!fill()) return false;
  }
  return true;
}

std::string Client::Impl::take(std::size_t size) {
  std::string text = waiting.substr(0, size);
  waiting.erase(0, size);
  return text;
}

bool Client::Impl::receive_chunks(std::string& body) {
  for (;;) {
    std::size_t end = 0;
    if (!fill_until("\r\n", end)) return false;
    const std::string line = take(end + 2);
    const auto size = std::strtoul(line.c_str(), nullptr, 16);
    if (!fill_to(size + 2)) return false;
    body += take(size);
    if (take(2) != "\r\n") return false;
    if (size == 0) return true;
  }
}

Client::Client(std::uint16_t port, const TlsSetup& tls) : impl_(std::make_unique<Impl>()) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  impl_->socket = connect_to(port);
  impl_->usable = impl_->socket >= 0;
  if (impl_->usable && tls.on) impl_->start_tls(tls);
}

Client::~Client() {
  if (!impl_) return;
  SSL_free(impl_->session);
  SSL_CTX_free(impl_->context);
  if (impl_->socket >= 0) ::close(impl_->socket);
}

Client::Client(Client&&) noexcept = default;

bool Client::connected() const { return impl_->usable; }

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = impl_->session != nullptr
                          ? static_cast<ssize_t>(SSL_write(impl_->session, bytes.data(),
                                                           static_cast<int>(bytes.size())))
                          : ::send(impl_->socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ERR_clear_error();
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Reply Client::receive(bool to_head_request) {
  Reply reply;
  std::size_t end = 0;
  if (!impl_->fill_until("\r\n\r\n", end)) return reply;
  reply.head = impl_->take(end + 4);
  for (const auto line : text::split(reply.head, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    reply.headers[text::lower(line.substr(0, colon))] = text::trim(line.substr(colon + 1));
  }
  const int status = std::atoi(reply.head.c_str() + sizeof("HTTP/1.1"));
  bool whole = true;
  if (!to_head_request && reply.headers.contains("transfer-encoding")) {
    whole = impl_->receive_chunks(reply.body);
  } else if (!to_head_request && reply.headers.contains("content-length")) {
    const auto size = std::strtoul(reply.headers["content-length"].c_str(), nullptr, 10);
    whole = impl_->fill_to(size);
    reply.body = impl_->take(size);
  }
  if (whole) reply.status = status;
  return reply;
}

Reply Client::exchange(std::string_view request) {
  send(request);
  return receive();
}

std::string Client::receive_line() {
  std::size_t end = 0;
  return impl_->fill_until("\n", end) ? impl_->take(end + 1) : "";
}

std::string Client::receive_some() {
  if (impl_->waiting.empty()) impl_->fill();
  return impl_->take(impl_->waiting.size());
}

bool Client::ends_within(std::chrono::milliseconds time) {
  const timeval patience{time.count() / 1000, (time.count() % 1000) * 1000};
  setsockopt(impl_->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto end = std::chrono::steady_clock::now() + time;
  while (impl_->fill()) {
  }
  return std::chrono::steady_clock::now() < end;
}

void Client::finish_sending() { ::shutdown(impl_->socket, SHUT_WR); }

void Client::reset() {
  const linger rude{1, 0};
  setsockopt(impl_->socket, SOL_SOCKET, SO_LINGER, &rude, sizeof rude);
  ::close(impl_->socket);
  impl_->socket = -1;
}

std::string Client::peer_name() const {
  if (impl_->session == nullptr) return {};
  X509* certificate = SSL_get1_peer_certificate(impl_->session);
  if (certificate == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            name.size());
  X509_free(certificate);
  return name.data();
}

std::string post(std::string_view path, std::string_view body, std::string_view more_fields) {
  std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n";
  request.append(more_fields);
  request.append("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  return request.append(body);
}

std::string get(std::string_view path, std::string_view more_fields) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more_fields) +
         "\r\n";
}

KeyPair make_certificate(const std::string& common_name, const CertificateOptions& options) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), options.expired ? -7200 : -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), options.expired ? -3600 : 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  if (options.authority) add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (*options.usage != 0) add_extension(certificate, NID_ext_key_usage, options.usage);
  sign(certificate, key, options.issuer);
  KeyPair pair{pem_of(certificate, nullptr), pem_of(nullptr, key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tessera-http-XXXXXX").string();
  folder_ = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TemporaryFolder::write(std::string_view name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

}  // namespace tessera::http::testing
