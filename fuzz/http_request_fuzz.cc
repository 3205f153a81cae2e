#include <string>

#include "fuzz/fuzz.h"
#include "http/request_parser.h"

using namespace tessera;
using http::RequestParser;

namespace {

constexpr std::size_t kLimit = 4096;

struct Outcome {
  RequestParser::Step step = RequestParser::Step::kMore;
  std::string method, path, query, body;
  std::size_t fields = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// As a connection does it: pieces of `piece` bytes, what is not consumed stays in front.
Outcome parse(std::string_view text, std::size_t piece) {
  RequestParser parser;
  std::string waiting;
  Outcome outcome;
  while (!text.empty()) {
    waiting.append(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    std::size_t consumed = 0;
    do {
      outcome.step = parser.feed(waiting, consumed);
      fuzz::require(consumed <= waiting.size(), "no more is consumed than there is");
      waiting.erase(0, consumed);
      if (outcome.step == RequestParser::Step::kHeader) outcome.step = parser.limit_body(kLimit);
      fuzz::require(parser.request().body.size() <= kLimit, "the body keeps its limit");
    } while (outcome.step == RequestParser::Step::kMore && consumed > 0 && !waiting.empty());
    if (outcome.step != RequestParser::Step::kMore) break;
  }
  if (outcome.step == RequestParser::Step::kBad) {
    fuzz::require(!parser.fault().text.empty(), "a fault has words");
  }
  if (outcome.step != RequestParser::Step::kDone) return outcome;
  http::Request request = parser.take();
  fuzz::require(request.body.capacity() - request.body.size() >= http::kBodySpare, "spare room");
  request.query_value("a");
  outcome.method = request.method;
  outcome.path = request.path;
  outcome.query = request.query;
  outcome.body = request.body;
  outcome.fields = request.headers.size();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const Outcome whole = parse(text, size + 1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    const Outcome pieces = parse(text, piece);
    if (whole.step == RequestParser::Step::kDone) {
      fuzz::require(pieces == whole, "the cut makes no difference");
    } else {
      fuzz::require(pieces.step != RequestParser::Step::kDone, "the cut makes nothing valid");
    }
  }
  return 0;
}
