/// HTTP/1.1 server with or without TLS. Boost stays inside. A connection lives on one I/O thread; a
/// handler gets the whole request and a Responder that any thread may call, once, later. Handlers
/// run on the I/O thread and must not block. Limits: header 16 KiB, body per route (longer: the
/// route's `too_large` answer, by default 413), idle 120 s, connections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tessera::http {

/// What a client showed at the TLS handshake.
struct ClientCertificate {
  bool verified = false;  ///< for clients, in time, and signed by the server's client authority
  std::string name;       ///< the common name in it; "" when none was shown
  std::string problem;    ///< why it is not verified
};

struct Request {
  std::string method, path, query;  ///< path decoded, query raw
  std::string body;  ///< has at least 64 bytes of spare capacity for in-place JSON parsing
  std::vector<std::pair<std::string, std::string>> headers;         ///< names lower-case
  std::string_view header(std::string_view lower_case_name) const;  ///< "" when absent
  std::string query_value(std::string_view key) const;              ///< decoded, "" when absent
  std::shared_ptr<const ClientCertificate> certificate;  ///< null: clients are not asked for one
  std::shared_ptr<std::atomic<bool>> client_gone;  ///< becomes true when the connection is lost
};

/// Text that lies in pieces in memory kept by `owner`: it is sent from there, uncopied.
struct Gathered {
  std::vector<std::string_view> pieces;
  std::shared_ptr<const void> owner;
  std::size_t size() const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  Gathered rest = {};  ///< what follows `body`, for answers too large to copy
};

/// Words for people, or nothing but a status.
inline Response plain_text(int status, std::string body) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::move(body),
          .headers = {}};
}

/// A chunked response. write() is false once the client is gone; dropped before end() it is cut.
class Stream {
 public:
  virtual ~Stream() = default;  ///< all members: any thread
  virtual bool write(std::string chunk) = 0;
  virtual void end() = 0;    ///< completes the response properly
  virtual void abort() = 0;  ///< cuts the connection
  virtual bool open() const = 0;
  /// Calls `then` once, on the I/O thread, when the socket has taken all that was written. Dropped
  /// uncalled when the client is gone first; at most one waits.
  virtual void when_taken(std::function<void()> then) = 0;
};

/// Answers exactly once; copyable (shared). Destroying every copy unanswered sends 500. Any thread.
class Responder {
 public:
  void operator()(Response response) const;
  std::shared_ptr<Stream> stream(int status, std::string content_type) const;
  /// A stream that is one long answer, see http/pieces.h: whoever only asked for the head gets
  /// that, who has finished sending gets all of it, and each write must be taken within the idle
  /// time. The body of `head` does not count.
  std::shared_ptr<Stream> long_answer(Response head) const;
  void abort() const;  ///< cut the connection without an answer (fault injection)
  struct State;
  explicit Responder(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<Stream> begin(Response head, bool whole_answer) const;
  std::shared_ptr<State> state_;
};

using Handler = std::function<void(Request&&, Responder)>;

struct Route {
  std::string method;  ///< "POST"; "*" = any
  std::string path;    ///< exact, or a prefix when it ends in '*'
  std::size_t max_body = 1 << 20;
  Handler handler;
  /// Asked when the header is there, before a byte of the body is kept; an answer is sent instead
  /// of calling the handler, and the connection closed. Not set: everybody may.
  std::function<std::optional<Response>(const Request& head)> admit;
  std::function<Response(std::size_t limit)> too_large;  ///< default 413 text
};

struct ServerOptions {
  std::string address = "127.0.0.1:0";  ///< "host:port", ":9395" = all addresses, port 0 = any
  int threads = 1;
  std::string cert_file, key_file;  ///< both non-empty: TLS 1.2+, re-read when the files change
                                    ///< (poll), bad pairs are kept out
  std::string tls_client_ca_file;   ///< clients are asked for a certificate signed by it; re-read
                                    ///< with the pair above
  bool tls_client_required = true;  ///< false: others get in too, see Request::certificate
  std::chrono::milliseconds cert_poll{10'000};
  std::chrono::milliseconds idle_timeout{120'000};
  std::chrono::milliseconds request_timeout{60'000};  ///< reading one request
  std::size_t max_connections = 4096;
};

class Server {
 public:
  /// Unknown path: 404 `404 page not found`; other method on a known path: 405 with Allow.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, std::vector<Route> routes);
  ~Server();  ///< stop()
  std::uint16_t port() const;
  /// Closes the listener, lets requests under way finish for at most `grace`, then cuts.
  /// Idempotent. Waits for the I/O threads, so never from a handler.
  void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(0));
  Status reload_certificate();  ///< at once, for tests and SIGHUP
 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
