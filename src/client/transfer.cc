#include "client/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>

#include "base/text.h"
#include "client/endpoint.h"

namespace tessera::client {
namespace {

constexpr std::size_t kPadding = 64;  // the JSON parser reads a little past the end
constexpr std::size_t kBodyLimit = 256U << 20U;
constexpr long kBufferBytes = 64L << 10;
constexpr long kConnectMs = 5'000;
constexpr long kKeepAliveIdleSeconds = 30, kKeepAliveEverySeconds = 10;
constexpr unsigned kUnackedMs = 20'000;
constexpr long kMaxIdleSeconds =
    60;  // below the 90 s after which kube-apiserver closes an idle connection
constexpr long kMaxLifetimeSeconds = 600;

// Keep-alive probes do not run while sent data waits for its acknowledgement; without this a dead
// peer holds a shared HTTP/2 connection for a quarter of an hour.
int tune_socket(void*, curl_socket_t socket, curlsocktype) {
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedMs, sizeof kUnackedMs);
  return CURL_SOCKOPT_OK;
}

curl_blob blob_of(const std::string& bytes) {
  return {.data = const_cast<char*>(bytes.data()), .len = bytes.size(), .flags = CURL_BLOB_COPY};
}

}  // namespace

void prepare_transport() {
  [[maybe_unused]] static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
}

Transfer::Transfer(const ApiRequest& request, const Credentials& credentials,
                   const Secrets& secrets, const Options& options)
    : easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
  static_assert(std::tuple_size_v<decltype(error_)> >= CURL_ERROR_SIZE);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::write);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  set_connection(credentials, options);
  set_tls(credentials, secrets);
  set_request(request, credentials, secrets);
}

Transfer::~Transfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(static_cast<curl_slist*>(headers_));
  curl_slist_free_all(static_cast<curl_slist*>(connect_to_));
}

void Transfer::set_connection(const Credentials& credentials, const Options& options) {
  curl_easy_setopt(easy_, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, kKeepAliveEverySeconds);
  curl_easy_setopt(easy_, CURLOPT_SOCKOPTFUNCTION, &tune_socket);
  curl_easy_setopt(easy_, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  curl_easy_setopt(easy_, CURLOPT_MAXLIFETIME_CONN, kMaxLifetimeSeconds);
  const bool https = credentials.server.starts_with("https:");
  if (options.own_connection) {
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
  }
  const bool shared = https && !options.own_connection;
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION,
                   static_cast<long>(shared ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, shared ? 1L : 0L);
  const long timeout = static_cast<long>(options.timeout.count());
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   timeout == 0 ? kConnectMs : std::min(timeout, kConnectMs));
  if (timeout != 0) curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, timeout);
  if (!credentials.proxy_url.empty()) {
    curl_easy_setopt(easy_, CURLOPT_PROXY, credentials.proxy_url.c_str());
  } else if (is_loopback(credentials.server)) {
    curl_easy_setopt(easy_, CURLOPT_PROXY,
                     "");  // no proxy of the environment for what is on this machine
  }
}

void Transfer::set_tls(const Credentials& credentials, const Secrets& secrets) {
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (credentials.insecure) {
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!secrets.ca_pem.empty()) {
    curl_blob blob = blob_of(secrets.ca_pem);
    curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &blob);
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);  // that CA alone, not the system's beside it
  }
  if (secrets.cert_pem.empty()) return;
  curl_blob cert = blob_of(secrets.cert_pem);
  curl_easy_setopt(easy_, CURLOPT_SSLCERT_BLOB, &cert);
  curl_easy_setopt(easy_, CURLOPT_SSLCERTTYPE, "PEM");
  curl_blob key = blob_of(secrets.key_pem);
  curl_easy_setopt(easy_, CURLOPT_SSLKEY_BLOB, &key);
  curl_easy_setopt(easy_, CURLOPT_SSLKEYTYPE, "PEM");
}

void Transfer::set_request(const ApiRequest& request, const Credentials& credentials,
                           const Secrets& secrets) {
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PUT" || request.method == "PATCH";
  if (has_body) {
    curl_easy_setopt(easy_, CURLOPT_POST, 1L);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request.body.data());
    add_header("Content-Type: " + request.content_type);
    add_header("Expect:");  // never wait for "100 Continue"
  }
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  add_header("Accept: application/json");
  if (!secrets.token.empty()) add_header("Authorization: Bearer " + secrets.token);

  const Endpoint endpoint = split_server(credentials.server);
  if (credentials.tls_server_name.empty() || !credentials.server.starts_with("https:")) {
    curl_easy_setopt(easy_, CURLOPT_URL, (credentials.server + request.path).c_str());
  } else {
    // libcurl checks the certificate against the URL's host: name the host as the certificate does,
    // connect to the real one.
    const std::string target = fmt::format("{}:{}:{}:{}", credentials.tls_server_name,
                                           endpoint.port, endpoint.host, endpoint.port);
    connect_to_ = curl_slist_append(nullptr, target.c_str());
    curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, static_cast<curl_slist*>(connect_to_));
    const std::string url = fmt::format("https://{}:{}{}{}", credentials.tls_server_name,
                                        endpoint.port, endpoint.prefix, request.path);
    curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
    add_header(fmt::format("Host: {}:{}", endpoint.host, endpoint.port));
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(headers_));
}

void Transfer::add_header(const std::string& line) {
  curl_slist* grown = curl_slist_append(static_cast<curl_slist*>(headers_), line.c_str());
  if (grown == nullptr) throw std::bad_alloc();
  headers_ = grown;
}

void Transfer::set_tag(void* tag) { curl_easy_setopt(easy_, CURLOPT_PRIVATE, tag); }

void* Transfer::tag_of(void* easy) {
  void* tag = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &tag);
  return tag;
}

std::size_t Transfer::write(char* data, std::size_t size, std::size_t count, void* self) {
  const std::size_t bytes = size * count;
  return static_cast<Transfer*>(self)->take({data, bytes}) ? bytes : CURL_WRITEFUNC_ERROR;
}

std::size_t Transfer::header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Transfer*>(self)->note_header({data, size * count});
  return size * count;
}

void Transfer::note_header(std::string_view line) {
  if (!text::trim(line).empty() || announced_) return;  // the blank line ends the headers
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return;  // 1xx: the real answer follows
  status_ = static_cast<int>(status);
  announced_ = true;
  if (on_headers) on_headers(status_);
}

bool Transfer::take(std::string_view chunk) {
  if (on_chunk && status_ >= 200 && status_ < 300) return on_chunk(chunk);
  if (body_.empty()) {
    curl_off_t announced = 0;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    const std::size_t expected =
        announced > 0 ? std::min(static_cast<std::size_t>(announced), kBodyLimit) : chunk.size();
    body_.reserve(std::max(expected, chunk.size()) + kPadding);
  }
  if (body_.size() + chunk.size() > kBodyLimit) {
    problem_ = fmt::format("answer is larger than {} bytes", kBodyLimit);
    return false;
  }
  body_.append(chunk);
  return true;
}

ApiResponse Transfer::finish(int curl_code) {
  ApiResponse response;
  response.status = status_;
  if (curl_code != CURLE_OK) {
    response.error = error_.front() != '\0' ? error_.data()
                                            : curl_easy_strerror(static_cast<CURLcode>(curl_code));
  }
  if (!problem_.empty()) response.error = problem_;
  curl_off_t seconds = 0;
  if (curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
    response.retry_after = std::chrono::seconds(std::min<curl_off_t>(seconds, 3600));
  }
  body_.reserve(body_.size() + kPadding);
  response.body = std::move(body_);
  return response;
}

}  // namespace tessera::client
