/// One client's connection: reads requests one after the other, hands them to handlers, sends the
/// answers, keeps the deadlines. Knows nothing of sockets; a Transport brings the bytes. Thread
/// rule: everything on the loop's thread. Other threads get here by Responder and Stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "http/input_buffer.h"
#include "http/request_parser.h"
#include "http/router.h"
#include "http/server.h"
#include "http/sockets.h"

namespace tessera::http {

class Loop;
class StreamBuffer;

/// What a connection asks of the worker that holds it.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual void forget(const std::shared_ptr<class Connection>& connection) = 0;
  virtual std::string_view date() = 0;
};

struct ConnectionLimits {
  std::chrono::milliseconds idle{0};
  std::chrono::milliseconds request{0};
  std::chrono::milliseconds handshake{0};
};

class Connection final : public TransportUser, public std::enable_shared_from_this<Connection> {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  Connection(std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport, const Router& router,
             const ConnectionLimits& limits, ConnectionHost& host);
  void start();

  // From Responder and Stream.
  void answer(Response response);
  bool begin_stream(const Response& head, std::shared_ptr<StreamBuffer> stream);
  void flush_stream();

  // From the worker.
  void cut();    ///< closes at once
  void drain();  ///< closes when the request under way is answered
  void check_deadline(Moment now);
  bool idle() const { return phase_ == Phase::kIdle; }
  Moment deadline() const { return deadline_; }

 private:
  enum class Phase : std::uint8_t {
    kHandshake,
    kIdle,
    kReading,
    kHandling,
    kResponding,
    kStreaming,
    kLingering,  // everything is said; waits for the peer to close, so that no reset destroys the
                 // last answer
    kClosed,
  };
  struct Output {
    std::string head, body;
    Gathered rest = {};

    std::size_t count() const { return 2 + rest.pieces.size(); }
    std::string_view piece(std::size_t i) const;
  };

  void on_handshake(IoResult result) override;
  void on_read(IoResult result, std::size_t bytes) override;
  void on_write(IoResult result, std::size_t bytes) override;

  void await_request();
  void read_more();
  void process_input();
  bool take_step();
  void take_body(std::size_t bytes);
  bool accept_header();
  void dispatch();
  void call_handler(Request request);
  Response too_large() const;
  void refuse(Response response);
  void peer_ended(IoResult result);

  void respond(Response response);
  void send(Output output);
  void write_next();
  void advance(std::size_t bytes);
  void output_done();
  void response_done();
  void finish(bool input_left);
  void close();

  void expire_in(std::chrono::milliseconds time);
  void never_expire() { deadline_ = Moment::max(); }

  const std::shared_ptr<Loop> loop_;
  const std::unique_ptr<Transport> transport_;
  const Router& router_;
  const ConnectionLimits limits_;
  ConnectionHost& host_;
  const std::shared_ptr<std::atomic<bool>> client_gone_;
  std::shared_ptr<const ClientCertificate> certificate_;  // null: the client was not asked

  Phase phase_ = Phase::kHandshake;
  Moment deadline_ = Moment::max();
  bool draining_ = false;
  bool read_pending_ = false;
  bool reads_body_ = false;  // the read under way, or the last one, goes into the request's body
  bool peer_ended_ = false;

  InputBuffer input_;
  RequestParser parser_;
  Router::Match match_;  // of the request under way
  std::size_t max_body_ = 0;
  bool head_request_ = false;
  bool http11_ = true;
  bool keep_alive_ = true;
  bool input_left_ = false;  // closing while the client may still be sending

  std::deque<Output> output_;
  // Where the first output goes on.
  std::size_t piece_ = 0, offset_ = 0;
  std::shared_ptr<StreamBuffer> stream_;
  bool stream_last_ = false;
};

}  // namespace tessera::http
