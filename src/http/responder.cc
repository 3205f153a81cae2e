#include "http/responder.h"

#include <utility>

#include "http/connection.h"
#include "http/loop.h"
#include "http/message.h"
#include "http/stream.h"
#include "obs/log.h"

namespace tessera::http {
namespace {

struct LostUnlessBegun {
  explicit LostUnlessBegun(std::shared_ptr<StreamBuffer> of) : buffer(std::move(of)) {}
  LostUnlessBegun(const LostUnlessBegun&) = delete;
  LostUnlessBegun& operator=(const LostUnlessBegun&) = delete;
  ~LostUnlessBegun() {
    if (!begun) buffer->lost();
  }
  const std::shared_ptr<StreamBuffer> buffer;
  bool begun = false;
};

}  // namespace

Responder::State::~State() {
  if (!claim()) return;
  send(plain_answer(500, "Internal Server Error"));
}

void Responder::State::send(Response response) {
  if (loop->on_thread()) {
    if (const auto alive = connection.lock()) alive->answer(std::move(response));
    return;
  }
  loop->post([to = connection, answer = std::move(response)]() mutable {
    if (const auto alive = to.lock()) alive->answer(std::move(answer));
  });
}

void Responder::operator()(Response response) const {
  if (!state_->claim()) {
    log::warn("second answer to one request dropped", {{"status", response.status}});
    return;
  }
  state_->send(std::move(response));
}

std::shared_ptr<Stream> Responder::stream(int status, std::string content_type) const {
  Response head;
  head.status = status;
  head.content_type = std::move(content_type);
  return begin(std::move(head), false);
}

std::shared_ptr<Stream> Responder::long_answer(Response head) const {
  return begin(std::move(head), true);
}

std::shared_ptr<Stream> Responder::begin(Response head, bool whole_answer) const {
  auto buffer = std::make_shared<StreamBuffer>(state_->loop, state_->connection, whole_answer);
  if (!state_->claim()) {
    log::warn("second answer to one request dropped", {{"status", head.status}});
    buffer->lost();
    return std::make_shared<StreamHandle>(std::move(buffer));
  }
  // A loop that has ended drops the task unrun: then too the producer must learn that nobody reads.
  const auto unless_begun = std::make_shared<LostUnlessBegun>(buffer);
  state_->loop->call([to = state_->connection, head = std::move(head), unless_begun] {
    const auto alive = to.lock();
    if (alive && alive->begin_stream(head, unless_begun->buffer)) unless_begun->begun = true;
  });
  return std::make_shared<StreamHandle>(std::move(buffer));
}

void Responder::abort() const {
  if (!state_->claim()) return;
  state_->loop->call([to = state_->connection] {
    if (const auto alive = to.lock()) alive->cut();
  });
}

}  // namespace tessera::http
