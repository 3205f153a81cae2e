/// One request at a time out of a stream of bytes. Feed it what came; it says how far it got and
/// what is wrong. The body goes straight into the request's string, which trusts a Content-Length
/// only as far as bytes have really come; one of known length may be read there from the socket:
/// body_room(), body_came(). Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/server.h"

namespace tessera::http {

inline constexpr std::size_t kHeaderLimit = 16 * 1024;
inline constexpr std::size_t kBodySpare = 64;  // simdjson reads past the end

class RequestParser {
 public:
  enum class Step : std::uint8_t {
    kMore,    ///< keep what was not consumed in front of the next bytes
    kHeader,  ///< the header is complete: call limit_body() before feeding on
    kDone,
    kTooLarge,  ///< the body passed its limit
    kBad,       ///< see fault()
  };
  struct Fault {
    int status = 400;
    std::string text;
  };

  RequestParser();
  ~RequestParser();

  /// Gets ready for the next request.
  void reset();
  Step feed(std::string_view bytes, std::size_t& consumed);
  /// kTooLarge when the announced length is already beyond the limit.
  Step limit_body(std::size_t limit);

  /// Where the next bytes of a body of known length belong; empty while none are due. Stays valid
  /// until body_came() says how many came.
  std::span<char> body_room();
  Step body_came(std::size_t count);

  bool http11() const;
  bool keep_alive() const;
  bool expects_continue() const;
  bool bad_expectation() const;
  const Fault& fault() const;
  Request& request();  ///< as far as it has come
  /// The request with its body; spare room behind the body is there.
  Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
