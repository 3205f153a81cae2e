#include "http/pieces.h"

#include <utility>

namespace tessera::http {
namespace {

using std::chrono::steady_clock;

class Resumed final : public PieceSource {
 public:
  Resumed(std::string piece, Piece step, std::unique_ptr<PieceSource> rest)
      : first_(std::move(piece)), step_(step), rest_(std::move(rest)) {}

  Piece next(std::string& piece) override {
    if (begun_) return rest_->next(piece);
    begun_ = true;
    if (piece.empty()) {
      piece = std::exchange(first_, {});
    } else {
      piece += std::exchange(first_, {});
    }
    return step_;
  }

 private:
  std::string first_;
  const Piece step_;
  const std::unique_ptr<PieceSource> rest_;
  bool begun_ = false;
};

/// Lives in the task or the wish of the moment; with it, the stream is dropped and thereby cut.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(std::shared_ptr<Stream> stream, std::unique_ptr<PieceSource> source, Producer producer,
       steady_clock::time_point end)
      : stream_(std::move(stream)),
        source_(std::move(source)),
        producer_(std::move(producer)),
        end_(end) {}

  void step() {
    if (!stream_->open()) return;
    if (steady_clock::now() >= end_) return stream_->abort();
    std::string piece;
    const Piece step = source_->next(piece);
    if (step == Piece::kBroken) return stream_->abort();
    if (!stream_->write(std::move(piece))) return;
    if (step == Piece::kLast) return stream_->end();
    stream_->when_taken([self = shared_from_this()] { self->producer_([self] { self->step(); }); });
  }

 private:
  const std::shared_ptr<Stream> stream_;
  const std::unique_ptr<PieceSource> source_;
  const Producer producer_;
  const steady_clock::time_point end_;
};

}  // namespace

std::unique_ptr<PieceSource> begin_with(std::string piece, Piece step,
                                        std::unique_ptr<PieceSource> rest) {
  return std::make_unique<Resumed>(std::move(piece), step, std::move(rest));
}

void send_pieces(const Responder& respond, Response head, std::unique_ptr<PieceSource> source,
                 Producer producer, std::chrono::milliseconds limit) {
  std::make_shared<Pump>(respond.long_answer(std::move(head)), std::move(source),
                         std::move(producer), steady_clock::now() + limit)
      ->step();
}

}  // namespace tessera::http
