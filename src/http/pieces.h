/// A long answer that is made while it is sent: one piece at a time, the next one only when the
/// socket has taken the one before, so that a slow client costs a piece of memory and nobody's
/// time. Thread rule: a source belongs to the producer's thread, send_pieces is called there; the
/// I/O thread only tells that a piece was taken. Whatever thread sees the client leave ends the
/// source, so ending one must be safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/server.h"

namespace tessera::http {

/// Where a source stands after a piece.
enum class Piece : std::uint8_t {
  kMore,
  kLast,
  kBroken,  ///< the answer cannot be completed: the connection is cut
};

/// About how long a piece is.
constexpr std::size_t kPieceSize = 256 * 1024;

class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// Appends the next piece; not called again after kLast.
  virtual Piece next(std::string& piece) = 0;
};

/// A source that begins with a piece taken before: `step` is what taking it gave.
std::unique_ptr<PieceSource> begin_with(std::string piece, Piece step,
                                        std::unique_ptr<PieceSource> rest);

/// Runs a task later on the producer's thread. A task may also be dropped: the answer is cut then.
using Producer = std::function<void(std::function<void()> task)>;

/// The whole of an answer must be taken in this time.
constexpr std::chrono::milliseconds kLongAnswerTime{300'000};

/// Status, type and headers are those of `head`; its body does not count.
void send_pieces(const Responder& respond, Response head, std::unique_ptr<PieceSource> source,
                 Producer producer, std::chrono::milliseconds limit = kLongAnswerTime);

}  // namespace tessera::http
