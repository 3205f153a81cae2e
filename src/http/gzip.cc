#include "http/gzip.h"

#include <zlib.h>

#include <string>

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
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace tessera::http
