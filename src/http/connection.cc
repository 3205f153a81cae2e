#include "http/connection.h"

#include <array>
#include <exception>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "http/loop.h"
#include "http/message.h"
#include "http/responder.h"
#include "http/stream.h"
#include "obs/log.h"

namespace tessera::http {
namespace {

constexpr std::chrono::milliseconds kLinger{2'000};
// Small enough to read and throw away, so that the connection stays usable.
constexpr std::size_t kUnroutedBody = 64 * 1024;
// Over TLS one record is one write: joining costs a copy and saves a packet.
constexpr std::size_t kJoinUnder = 256 * 1024;

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport,
                       const Router& router, const ConnectionLimits& limits, ConnectionHost& host)
    : loop_(std::move(loop)),
      transport_(std::move(transport)),
      router_(router),
      limits_(limits),
      host_(host),
      client_gone_(std::make_shared<std::atomic<bool>>(false)) {}

void Connection::start() {
  expire_in(limits_.handshake);
  transport_->handshake(shared_from_this());
}

void Connection::on_handshake(IoResult result) {
  if (phase_ != Phase::kHandshake) return;
  if (result != IoResult::kOk || draining_) {
    close();
    return;
  }
  certificate_ = transport_->client_certificate();
  await_request();
}

void Connection::await_request() {
  phase_ = Phase::kIdle;
  match_ = {};
  head_request_ = false;
  http11_ = true;
  expire_in(limits_.idle);
  process_input();
  if (phase_ == Phase::kIdle || phase_ == Phase::kReading) read_more();
}

// ---- input ----

void Connection::read_more() {
  if (read_pending_ || peer_ended_ || phase_ == Phase::kClosed) return;
  auto room = phase_ == Phase::kReading && input_.empty() ? parser_.body_room() : std::span<char>();
  reads_body_ = !room.empty();
  if (!reads_body_) room = input_.room();
  if (room.empty()) return;  // pipelined requests wait in the socket
  read_pending_ = true;
  transport_->read(shared_from_this(), room);
}

void Connection::on_read(IoResult result, std::size_t bytes) {
  read_pending_ = false;
  if (phase_ == Phase::kClosed) return;
  if (result != IoResult::kOk) {
    peer_ended(result);
    return;
  }
  if (reads_body_) {
    take_body(bytes);
  } else {
    input_.commit(bytes);
    if (phase_ == Phase::kLingering) input_.clear();
    process_input();
  }
  read_more();
}

/// The request may have been refused meanwhile: then nobody wants the rest of it.
void Connection::take_body(std::size_t bytes) {
  if (phase_ != Phase::kReading) return;
  if (parser_.body_came(bytes) == RequestParser::Step::kDone) dispatch();
}

void Connection::peer_ended(IoResult result) {
  peer_ended_ = true;
  client_gone_->store(true);
  // A client may shut down its sending side and still wait for the answer; anything else has nobody
  // to talk to.
  const bool answer_under_way = phase_ == Phase::kHandling || phase_ == Phase::kResponding ||
                                (phase_ == Phase::kStreaming && stream_->whole_answer());
  if (result == IoResult::kEnd && answer_under_way) return;
  close();
}

void Connection::process_input() {
  while (take_step()) {
  }
}

/// True when there may be more to do with what is there.
bool Connection::take_step() {
  if (phase_ == Phase::kIdle && !input_.empty()) {
    phase_ = Phase::kReading;
    expire_in(limits_.request);
  }
  if (phase_ != Phase::kReading || input_.empty()) return false;
  std::size_t consumed = 0;
  const auto step = parser_.feed(input_.bytes(), consumed);
  input_.consume(consumed);
  switch (step) {
    case RequestParser::Step::kHeader:
      return accept_header();
    case RequestParser::Step::kDone:
      dispatch();
      return false;
    case RequestParser::Step::kTooLarge:
      refuse(too_large());
      return false;
    case RequestParser::Step::kBad:
      refuse(plain_answer(parser_.fault().status, parser_.fault().text));
      return false;
    case RequestParser::Step::kMore:
      if (input_.full()) refuse(plain_answer(400, "malformed request: line too long"));
      return consumed > 0;
  }
  return false;
}

/// The header is complete: the route, and with it the limit of the body, is known before a byte of
/// the body is kept.
bool Connection::accept_header() {
  Request& request = parser_.request();
  request.certificate = certificate_;
  http11_ = parser_.http11();
  keep_alive_ = parser_.keep_alive() && !draining_;
  head_request_ = request.method == "HEAD";
  match_ = router_.find(request.method, request.path, request.query);
  max_body_ = match_.route != nullptr ? match_.route->max_body : kUnroutedBody;
  if (match_.route != nullptr && match_.route->admit) {
    if (auto refusal = match_.route->admit(request)) {
      refuse(std::move(*refusal));
      return false;
    }
  }
  if (parser_.bad_expectation()) {
    refuse(plain_answer(417, "unsupported expectation"));
    return false;
  }
  switch (parser_.limit_body(max_body_)) {
    case RequestParser::Step::kTooLarge:
      refuse(too_large());
      return false;
    case RequestParser::Step::kDone:
      dispatch();
      return false;
    default:
      if (parser_.expects_continue() && input_.empty()) send({"HTTP/1.1 100 Continue\r\n\r\n", ""});
      return true;
  }
}

Response Connection::too_large() const {
  if (match_.route == nullptr) return match_.fallback;
  if (match_.route->too_large) return match_.route->too_large(max_body_);
  return plain_answer(413, fmt::format("request body too large: the limit is {} bytes", max_body_));
}

void Connection::refuse(Response response) {
  keep_alive_ = false;
  input_left_ = true;
  respond(std::move(response));
}

void Connection::dispatch() {
  Request request = parser_.take();
  request.client_gone = client_gone_;
  parser_.reset();
  phase_ = Phase::kHandling;
  never_expire();
  if (match_.route == nullptr) {
    answer(std::move(match_.fallback));
    return;
  }
  call_handler(std::move(request));
  if (phase_ == Phase::kHandling) read_more();  // sees the client leave
}

void Connection::call_handler(Request request) {
  const auto state = std::make_shared<Responder::State>(loop_, weak_from_this());
  try {
    match_.route->handler(std::move(request), Responder(state));
  } catch (const std::exception& exception) {
    // A fault of ours in one request must not take the process with it.
    log::error("handler failed", {{"path", match_.route->path}, {"reason", exception.what()}});
    if (state->claim()) state->send(plain_answer(500, "Internal Server Error"));
  }
}

// ---- output ----

void Connection::answer(Response response) {
  if (phase_ == Phase::kHandling) respond(std::move(response));
}

void Connection::respond(Response response) {
  phase_ = Phase::kResponding;
  keep_alive_ = keep_alive_ && !draining_ && !peer_ended_;
  HeadFacts facts;
  facts.keep_alive = keep_alive_;
  facts.http11 = http11_;
  facts.date = host_.date();
  std::string head = render_head(response, facts);
  if (head_request_ || response.status == 204 || response.status == 304) {
    response.body.clear();
    response.rest = {};
  }
  send({std::move(head), std::move(response.body), std::move(response.rest)});
}

bool Connection::begin_stream(const Response& head, std::shared_ptr<StreamBuffer> stream) {
  const bool whole_answer = stream->whole_answer();
  if (phase_ != Phase::kHandling || (peer_ended_ && !whole_answer)) return false;
  keep_alive_ = keep_alive_ && http11_ && !draining_ && !peer_ended_;
  const bool head_only = head_request_ && whole_answer;
  phase_ = head_only ? Phase::kResponding : Phase::kStreaming;
  if (!head_only) stream_ = std::move(stream);
  stream_last_ = false;
  HeadFacts facts;
  facts.framing = http11_ ? Framing::kChunked : Framing::kUntilClose;
  facts.keep_alive = keep_alive_;
  facts.http11 = http11_;
  facts.date = host_.date();
  send({render_head(head, facts), ""});
  return !head_only;
}

void Connection::flush_stream() {
  if (phase_ != Phase::kStreaming || !output_.empty()) return;
  if (stream_last_) {
    stream_.reset();
    response_done();
    return;
  }
  auto piece = stream_->take();
  stream_last_ = piece.last;
  if (head_request_) piece.bytes.clear();
  std::string head;
  if (http11_ && !head_request_) {
    if (!piece.bytes.empty()) {
      head = fmt::format("{:x}\r\n", piece.bytes.size());
      piece.bytes.append("\r\n");
    }
    if (piece.last) piece.bytes.append("0\r\n\r\n");
  }
  if (!head.empty() || !piece.bytes.empty()) {
    send({std::move(head), std::move(piece.bytes)});
  } else if (piece.last) {
    flush_stream();
  } else {
    never_expire();
  }
}

void Connection::send(Output output) {
  if (transport_->secure() && output.body.size() < kJoinUnder) {
    output.head.append(output.body);
    output.body.clear();
  }
  output_.push_back(std::move(output));
  if (output_.size() > 1) return;
  if (phase_ != Phase::kReading) expire_in(limits_.idle);
  write_next();
}

std::string_view Connection::Output::piece(std::size_t i) const {
  if (i == 0) return head;
  return i == 1 ? std::string_view(body) : rest.pieces[i - 2];
}

void Connection::write_next() {
  const Output& next = output_.front();
  std::array<std::string_view, Transport::kMostPieces> pieces;
  std::size_t count = 0;
  for (std::size_t i = piece_; i < next.count() && count < pieces.size(); ++i) {
    const std::string_view text = next.piece(i).substr(i == piece_ ? offset_ : 0);
    if (!text.empty()) pieces[count++] = text;
  }
  transport_->write(shared_from_this(), std::span(pieces).first(count));
}

void Connection::advance(std::size_t bytes) {
  const Output& output = output_.front();
  offset_ += bytes;
  while (piece_ < output.count() && offset_ >= output.piece(piece_).size()) {
    offset_ -= output.piece(piece_).size();
    ++piece_;
  }
  if (piece_ < output.count()) return;
  output_.pop_front();
  piece_ = offset_ = 0;
}

void Connection::on_write(IoResult result, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (result != IoResult::kOk) {
    close();
    return;
  }
  // Slow is allowed, standing still is not; a piece of a long answer is held for a limited time.
  const bool by_piece = phase_ == Phase::kStreaming && stream_->whole_answer();
  if (phase_ != Phase::kReading && phase_ != Phase::kHandling && !by_piece) expire_in(limits_.idle);
  advance(bytes);
  if (!output_.empty()) {
    write_next();
  } else {
    output_done();
  }
}

void Connection::output_done() {
  if (phase_ == Phase::kResponding) {
    response_done();
  } else if (phase_ == Phase::kStreaming) {
    read_more();  // sees the client leave
    flush_stream();
  }
}

void Connection::response_done() {
  if (keep_alive_ && !draining_ && !peer_ended_) {
    await_request();
  } else {
    finish(input_left_);
  }
}

// ---- ends ----

void Connection::finish(bool input_left) {
  if (peer_ended_ || (!input_left && !transport_->secure())) {
    close();
    return;
  }
  phase_ = Phase::kLingering;
  expire_in(kLinger);
  input_.clear();
  transport_->finish_sending(shared_from_this());
  read_more();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  never_expire();
  client_gone_->store(true);
  if (stream_) stream_->lost();
  stream_.reset();
  transport_->close();
  host_.forget(shared_from_this());
}

void Connection::cut() { close(); }

void Connection::drain() {
  draining_ = true;
  if (phase_ == Phase::kIdle) finish(false);
}

void Connection::check_deadline(Moment now) {
  if (now < deadline_) return;
  if (phase_ == Phase::kReading && output_.empty()) {
    refuse(plain_answer(408, "Request Timeout"));
  } else if (phase_ == Phase::kIdle) {
    finish(false);
  } else {
    close();
  }
}

void Connection::expire_in(std::chrono::milliseconds time) {
  deadline_ = std::chrono::steady_clock::now() + time;
}

}  // namespace tessera::http
