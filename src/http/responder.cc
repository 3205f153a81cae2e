#include "http/responder.h"

#include <utility>

#include "http/connection.h"
#include "http/loop.h"
#include "http/message.h"
#include "http/stream.h"
#include "obs/log.h"

namespace tessera::http {

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
  auto buffer = std::make_shared<StreamBuffer>(state_->loop, state_->connection);
  if (!state_->claim()) {
    log::warn("second answer to one request dropped", {{"status", status}});
    buffer->lost();
    return std::make_shared<StreamHandle>(std::move(buffer));
  }
  Response head;
  head.status = status;
  head.content_type = std::move(content_type);
  const auto begin = [to = state_->connection, head = std::move(head), buffer] {
    const auto alive = to.lock();
    if (!alive || !alive->begin_stream(head, buffer)) buffer->lost();
  };
  state_->loop->call(begin);
  return std::make_shared<StreamHandle>(std::move(buffer));
}

void Responder::abort() const {
  if (!state_->claim()) return;
  state_->loop->call([to = state_->connection] {
    if (const auto alive = to.lock()) alive->cut();
  });
}

}  // namespace tessera::http
