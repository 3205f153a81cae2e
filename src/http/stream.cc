#include "http/stream.h"

#include <utility>

#include "http/connection.h"
#include "http/loop.h"

namespace tessera::http {

StreamBuffer::StreamBuffer(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> connection,
                           bool whole_answer)
    : loop_(std::move(loop)), connection_(std::move(connection)), whole_answer_(whole_answer) {}

bool StreamBuffer::write(std::string chunk) {
  bool cut = false;
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return false;
    cut = waiting_.size() + under_way_ > kMost;
    if (!cut && waiting_.empty()) {
      waiting_ = std::move(chunk);
    } else if (!cut) {
      waiting_.append(chunk);
    }
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

void StreamBuffer::when_taken(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return;  // `then` ends with the caller's frame, outside the lock
    then_.swap(then);
  }
  wake();
}

void StreamBuffer::abort() {
  std::function<void()> unheard;
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
    open_ = false;
    unheard.swap(then_);
  }
  loop_->post([connection = connection_] {
    if (const auto alive = connection.lock()) alive->cut();
  });
}

StreamBuffer::Piece StreamBuffer::take() {
  std::function<void()> then;
  Piece piece;
  {
    const std::lock_guard lock(mutex_);
    under_way_ = waiting_.size();
    if (waiting_.empty()) then.swap(then_);
    piece = {std::exchange(waiting_, {}), ended_};
  }
  if (then) then();
  return piece;
}

void StreamBuffer::lost() {
  std::function<void()> unheard;  // its end may end the producer, who looks at this buffer
  const std::lock_guard lock(mutex_);
  open_ = false;
  waiting_ = {};
  unheard.swap(then_);
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
