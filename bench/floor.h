/// What this machine takes at least for so many bytes: an exchange over the same kind of connection
/// that decides nothing, a copy, and a JSON parser. Thread rule: free function; blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "http_load.h"

namespace tessera::bench {

struct Floor {
  Latencies empty;      ///< a POST without a body, an answer without one
  Latencies same;       ///< a request and an answer as large as the real ones
  double copy_ms = 0;   ///< of the request's body
  double parse_ms = 0;  ///< of the request's body into a document that is not looked at
};
/// `pause`: between the calls, as between the calls that it is held against.
Result<Floor> measure_floor(const std::string& body, std::size_t answer_size, std::int64_t calls,
                            std::chrono::microseconds pause);

}  // namespace tessera::bench
