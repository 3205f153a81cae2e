#include "http/request_parser.h"

// Beast 1.81 asserts that five bytes are there when it looks again at the last chunk of a body; a
// client that sends "0\r\n" and then one byte more gets there with four, where the code behind the
// assertion is correct. No client may stop the process.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "base/free_memory.h"
#include "base/text.h"
#include "http/message.h"

namespace tessera::http {
namespace {

namespace beast = boost::beast;
using ErrorCode = beast::error_code;

// Beyond this a client must have sent as much before it gets memory for the rest.
constexpr std::size_t kTrustedLength = 1 << 20;
// One read's worth; what a string is extended by has to be written twice, so it stays in the cache.
constexpr std::size_t kBodyStep = 256 * 1024;

std::string to_string(beast::string_view text) { return {text.data(), text.size()}; }

class Parser final : public beast::http::basic_parser<true> {
 public:
  Parser() {
    header_limit(kHeaderLimit);
    body_limit(boost::none);
  }

  Request request;
  RequestParser::Fault fault;
  std::size_t limit = 0;
  std::uint64_t announced = 0;
  std::uint64_t body_left = 0;  // of a body of known length, which is ours to read
  std::size_t header_bytes = 0;
  int hosts = 0;
  bool in_header = true;
  bool http11 = true;
  bool transfer_encoding = false;
  bool too_large = false;
  std::string expect;

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, ErrorCode& code) override {
    http11 = version == 11;
    request.method = to_string(method);
    std::string_view rest(target.data(), target.size());
    if (rest.starts_with("http://") || rest.starts_with("https://")) {
      const auto slash = rest.find('/', rest.find("//") + 2);
      rest = slash == std::string_view::npos ? std::string_view("/") : rest.substr(slash);
    }
    const auto question = rest.find('?');
    auto path = percent_decode(rest.substr(0, question), false);
    if (!path || (!path->starts_with('/') && *path != "*")) {
      refuse(400, "bad request target " + text::quote(rest.substr(0, 100)), code);
      return;
    }
    request.path = std::move(*path);
    if (question != std::string_view::npos) request.query = rest.substr(question + 1);
  }

  void on_response_impl(int, beast::string_view, int, ErrorCode&) override {}

  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value,
                     ErrorCode&) override {
    if (!in_header) return;  // trailers say nothing that we act on
    if (field == beast::http::field::host) ++hosts;
    if (field == beast::http::field::transfer_encoding) transfer_encoding = true;
    if (field == beast::http::field::expect) expect = to_string(value);
    request.headers.emplace_back(text::lower({name.data(), name.size()}), to_string(value));
  }

  void on_header_impl(ErrorCode& code) override {
    in_header = false;
    // A message whose length we would guess otherwise than a proxy before us could smuggle a second
    // request.
    if (transfer_encoding && !chunked()) {
      refuse(501, "unsupported Transfer-Encoding", code);
    } else if (hosts > 1 || (http11 && hosts == 0)) {
      refuse(400, hosts > 1 ? "too many Host headers" : "missing required Host header", code);
    }
    if (const auto length = content_length()) announced = *length;
  }

  void on_body_init_impl(boost::optional<std::uint64_t> const&, ErrorCode&) override {}

  // Bodies of known length do not come here.
  std::size_t on_body_impl(beast::string_view body, ErrorCode&) override { return body.size(); }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view, ErrorCode& code) override {
    if (size <= limit && request.body.size() + size <= limit) return;
    too_large = true;
    refuse(413, "body too large", code);
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, ErrorCode&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }

  void on_finish_impl(ErrorCode&) override {}

  void refuse(int status, std::string text, ErrorCode& code) {
    fault = {status, std::move(text)};
    code = beast::http::error::bad_value;
  }
};

RequestParser::Fault fault_of(const ErrorCode& code, RequestParser::Fault known) {
  if (!known.text.empty()) return known;
  if (code == beast::http::error::header_limit) return {431, "request header too large"};
  if (code == beast::http::error::bad_version) return {505, "unsupported HTTP version"};
  return {400, "malformed request: " + code.message()};
}

}  // namespace

struct RequestParser::Impl {
  std::optional<Parser> parser;
  Fault fault;
  std::size_t filled = 0;  // of the body; behind it there may be room for what is still to come

  Step put(std::string_view bytes, std::size_t& consumed);
  void make_room();
  std::span<char> room();
  Step came(std::size_t count);
  Step copy(std::string_view bytes, std::size_t& consumed);
};

/// Extends the body by one step.
void RequestParser::Impl::make_room() {
  std::string& body = parser->request.body;
  const auto announced = static_cast<std::size_t>(parser->announced);
  const std::size_t size = std::min(filled + kBodyStep, announced);
  if (size + kBodySpare > body.capacity()) {
    body.reserve((size > kTrustedLength ? announced : std::min(announced, kTrustedLength)) +
                 kBodySpare);
    if (size > kTrustedLength) prefer_large_pages(body.data(), body.capacity());
  }
  body.resize(size);
}

std::span<char> RequestParser::Impl::room() {
  if (parser->body_left == 0) return {};
  std::string& body = parser->request.body;
  if (filled == body.size()) make_room();
  return {body.data() + filled, body.size() - filled};
}

RequestParser::Step RequestParser::Impl::came(std::size_t count) {
  filled += count;
  parser->body_left -= count;
  return parser->body_left == 0 ? Step::kDone : Step::kMore;
}

/// What came together with the header.
RequestParser::Step RequestParser::Impl::copy(std::string_view bytes, std::size_t& consumed) {
  Step step = Step::kMore;
  while (step == Step::kMore && consumed < bytes.size()) {
    const std::span<char> to = room();
    const std::size_t count = bytes.copy(to.data(), to.size(), consumed);
    consumed += count;
    step = came(count);
  }
  return step;
}

RequestParser::Step RequestParser::Impl::put(std::string_view bytes, std::size_t& consumed) {
  const bool in_header = !parser->is_header_done();
  ErrorCode code;
  consumed = parser->put(boost::asio::const_buffer(bytes.data(), bytes.size()), code);
  if (in_header) {
    // Beast's own limit starts anew with every field that came whole.
    parser->header_bytes += consumed;
    const bool complete = parser->is_header_done();
    if (parser->header_bytes + (complete ? 0 : bytes.size() - consumed) > kHeaderLimit) {
      fault = {431, "request header too large"};
      return Step::kBad;
    }
  }
  if (code && code != beast::http::error::need_more) {
    fault = fault_of(code, std::move(parser->fault));
    return parser->too_large ? Step::kTooLarge : Step::kBad;
  }
  if (in_header && parser->is_header_done()) return Step::kHeader;
  if (in_header && bytes.substr(consumed).find("\r\n\r\n") != std::string_view::npos) {
    // Beast counts characters: a short word where the version belongs looks unfinished to it.
    fault = {400, "malformed request line"};
    return Step::kBad;
  }
  return parser->is_done() ? Step::kDone : Step::kMore;
}

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) { reset(); }
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  impl_->parser.emplace();
  impl_->filled = 0;
}

RequestParser::Step RequestParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  if (impl_->parser->is_done()) return Step::kDone;
  if (bytes.empty()) return Step::kMore;
  try {
    return impl_->parser->body_left > 0 ? impl_->copy(bytes, consumed)
                                        : impl_->put(bytes, consumed);
  } catch (const std::bad_alloc&) {
    impl_->fault = {503, "not enough memory for this request"};
    return Step::kBad;
  }
}

std::span<char> RequestParser::body_room() {
  try {
    return impl_->room();
  } catch (const std::bad_alloc&) {
    return {};  // feed() will say so
  }
}

RequestParser::Step RequestParser::body_came(std::size_t count) { return impl_->came(count); }

RequestParser::Step RequestParser::limit_body(std::size_t limit) {
  Parser& parser = *impl_->parser;
  parser.limit = limit;
  parser.eager(true);
  if (parser.announced > limit) return Step::kTooLarge;
  if (parser.is_done()) return Step::kDone;
  if (!parser.chunked()) parser.body_left = parser.announced;
  return Step::kMore;
}

bool RequestParser::http11() const { return impl_->parser->http11; }
bool RequestParser::keep_alive() const { return impl_->parser->keep_alive(); }
bool RequestParser::expects_continue() const {
  return impl_->parser->http11 && text::equals_ignoring_case(impl_->parser->expect, "100-continue");
}
bool RequestParser::bad_expectation() const {
  return !impl_->parser->expect.empty() && !expects_continue() && impl_->parser->http11;
}
const RequestParser::Fault& RequestParser::fault() const { return impl_->fault; }
Request& RequestParser::request() { return impl_->parser->request; }

Request RequestParser::take() {
  Request request = std::move(impl_->parser->request);
  if (request.body.capacity() - request.body.size() < kBodySpare) {
    request.body.reserve(request.body.size() + kBodySpare);
  }
  return request;
}

}  // namespace tessera::http
