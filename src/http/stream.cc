#include "http/stream.h"

#include <utility>

#include "http/connection.h"
#include "http/loop.h"

namespace tessera::http {

StreamBuffer::StreamBuffer(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> connection)
    : loop_(std::move(loop)), connection_(std::move(connection)) {}

bool StreamBuffer::write(std::string_view chunk) {
  bool cut = false;
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return false;
    cut = waiting_.size() + under_way_ > kMost;
    if (!cut) waiting_.append(chunk);
  }
  if (cut) {
    abort();
    return false;
  }
  wake();
  return true;
}

void StreamBuffer::end() {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
    open_ = false;
    ended_ = true;
  }
  wake();
}

void StreamBuffer::abort() {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
    open_ = false;
  }
  loop_->post([connection = connection_] {
    if (const auto alive = connection.lock()) alive->cut();
  });
}

StreamBuffer::Piece StreamBuffer::take() {
  const std::lock_guard lock(mutex_);
  under_way_ = waiting_.size();
  return {std::exchange(waiting_, {}), ended_};
}

void StreamBuffer::lost() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  waiting_ = {};
}

// Always through the queue: one wake-up carries all that was written until it is served, and the
// order of chunks is that of the calls whatever threads they come from.
void StreamBuffer::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(wake_pending_, true)) return;
  }
  loop_->post([self = shared_from_this()] {
    {
      const std::lock_guard lock(self->mutex_);
      self->wake_pending_ = false;
    }
    if (const auto alive = self->connection_.lock()) alive->flush_stream();
  });
}

}  // namespace tessera::http
