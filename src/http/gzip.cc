#include "http/gzip.h"

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"

namespace tessera::http {
namespace {

constexpr std::size_t kShortest = 1024;
/// A gzip wrapper around a window of the largest size.
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

/// "" when zlib refuses.
std::string packed(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib never writes through next_in; its type is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(complete ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

void say_packed(Response& response) {
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Vary", "Accept-Encoding");
}

/// One packed text over all pieces: what zlib keeps from piece to piece is what makes it small.
class PackedPieces final : public PieceSource {
 public:
  explicit PackedPieces(std::unique_ptr<PieceSource>& plain) {
    ready_ = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                          Z_DEFAULT_STRATEGY) == Z_OK;
    if (ready_) plain_ = std::move(plain);
  }
  ~PackedPieces() override {
    if (ready_) deflateEnd(&stream_);
  }
  PackedPieces(const PackedPieces&) = delete;
  PackedPieces& operator=(const PackedPieces&) = delete;
  bool ready() const { return ready_; }

  Piece next(std::string& piece) override {
    std::size_t read = 0;
    // Pieces of packed text are small; what one costs in time is bounded by what it is made of.
    while (piece.size() < kPackedSize && read < kPlainSize) {
      input_.clear();
      const Piece step = plain_->next(input_);
      if (step == Piece::kBroken || input_.size() > UINT32_MAX) return Piece::kBroken;
      read += input_.size();
      if (!pack(step == Piece::kLast ? Z_FINISH : Z_NO_FLUSH, piece)) return Piece::kBroken;
      if (step == Piece::kLast) return step;
    }
    return Piece::kMore;
  }

 private:
  static constexpr std::size_t kPackedSize = 32 * 1024, kPlainSize = 1024 * 1024, kRoom = 16 * 1024;

  /// All of input_; with Z_FINISH to the end of the text.
  bool pack(int flush, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    int code = Z_OK;
    do {
      const std::size_t begin = out.size();
      out.resize(begin + kRoom);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
      stream_.avail_out = static_cast<uInt>(kRoom);
      code = deflate(&stream_, flush);
      out.resize(begin + kRoom - stream_.avail_out);
      if (code == Z_STREAM_ERROR) return false;
    } while (stream_.avail_out == 0 && code != Z_STREAM_END);
    return flush == Z_FINISH ? code == Z_STREAM_END : stream_.avail_in == 0;
  }

  z_stream stream_{};
  bool ready_ = false;
  std::unique_ptr<PieceSource> plain_;
  std::string input_;
};

bool is_zero(std::string_view quality) {
  return quality.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::size_t comma = accept_encoding.find(',');
    const std::string_view entry = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == std::string_view::npos ? accept_encoding.size()
                                                                  : comma + 1);
    const std::size_t semicolon = entry.find(';');
    if (!text::equals_ignoring_case(text::trim(entry.substr(0, semicolon)), "gzip")) continue;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view weight = text::trim(entry.substr(semicolon + 1));
    return !weight.starts_with("q=") || !is_zero(weight.substr(2));
  }
  return false;
}

void gzip(Response& response) {
  constexpr std::size_t kLongest = 1U << 31;  // zlib counts one pass in 32 bits
  if (response.body.size() < kShortest || response.body.size() >= kLongest) return;
  std::string body = packed(response.body);
  if (body.empty()) return;
  response.body = std::move(body);
  say_packed(response);
}

void gzip(Response& head, std::unique_ptr<PieceSource>& source) {
  auto packed = std::make_unique<PackedPieces>(source);
  if (!packed->ready()) return;
  source = std::move(packed);
  say_packed(head);
}

}  // namespace tessera::http
