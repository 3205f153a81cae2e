/// The buffer between whoever produces a chunked response and the connection that sends it.
/// Thread-safe; the connection's side is called on its loop only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "http/server.h"

namespace tessera::http {

class Connection;
class Loop;

class StreamBuffer : public std::enable_shared_from_this<StreamBuffer> {
 public:
  static constexpr std::size_t kMost = 16 << 20;  ///< a client that reads slower than this is cut

  StreamBuffer(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> connection, bool whole_answer);

  // The producer's side.
  bool write(std::string chunk);
  void end();
  void abort();
  bool open() const { return open_; }
  void when_taken(std::function<void()> then);
  bool whole_answer() const { return whole_answer_; }  ///< see Responder::long_answer

  // The connection's side.
  struct Piece {
    std::string bytes;
    bool last = false;
  };
  /// What has gathered since; what was taken before counts as sent. Tells who waits for that.
  Piece take();
  void lost();  ///< the client is gone

 private:
  void wake();

  const std::shared_ptr<Loop> loop_;
  const std::weak_ptr<Connection> connection_;
  const bool whole_answer_;
  std::atomic<bool> open_{true};
  std::mutex mutex_;
  std::string waiting_;        // guarded by mutex_
  std::size_t under_way_ = 0;  // guarded by mutex_
  bool ended_ = false;         // guarded by mutex_
  bool wake_pending_ = false;  // guarded by mutex_
  /// Guarded by mutex_. It may hold the producer, and that this buffer: lost() and take() let go.
  std::function<void()> then_;
};

/// What the producer holds. Dropping it before end() cuts the connection: half a response must not
/// look whole.
class StreamHandle final : public Stream {
 public:
  explicit StreamHandle(std::shared_ptr<StreamBuffer> buffer) : buffer_(std::move(buffer)) {}
  ~StreamHandle() override { buffer_->abort(); }
  bool write(std::string chunk) override { return buffer_->write(std::move(chunk)); }
  void end() override { buffer_->end(); }
  void abort() override { buffer_->abort(); }
  bool open() const override { return buffer_->open(); }
  void when_taken(std::function<void()> then) override { buffer_->when_taken(std::move(then)); }

 private:
  const std::shared_ptr<StreamBuffer> buffer_;
};

}  // namespace tessera::http
