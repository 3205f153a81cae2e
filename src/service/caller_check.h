/// Who may call the extender: callers that show a client certificate of the right authority, or
/// send a token. The webhook, the probes and the metrics stay open. Without either option
/// everybody may, as with HAMi. Source: public case 182. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/server.h"
#include "obs/metrics.h"

namespace tessera::service {

/// One token a line, so that an old and a new one can be good side by side. Errors name the file.
Result<std::vector<std::string>> read_tokens(const std::string& path);

class CallerCheck {
 public:
  struct Options {
    bool certificates = false;  ///< the server asks for them
    std::string token_file;     ///< "" = no token is good
  };
  CallerCheck(Options options, const Clock& clock, obs::Metrics& metrics);

  bool on() const { return options_.certificates || !options_.token_file.empty(); }
  /// "" when the caller may go on, else what is missing. The request's body is not looked at.
  std::string problem(const http::Request& request) const;
  /// The answer to a caller that may not go on, in the form that the path's callers read; it is
  /// counted and told.
  std::optional<http::Response> refusal(const http::Request& request);
  /// Makes the check part of every route that is not open to all.
  void guard(std::vector<http::Route>& routes);

  /// Reads the tokens again when the file has changed; a bad file is kept out.
  Status reload();

 private:
  std::string certificate_problem(const http::Request& request) const;
  std::string token_problem(const http::Request& request) const;
  void tell(const http::Request& request, const std::string& why);

  const Options options_;
  const Clock& clock_;
  obs::Metrics& metrics_;
  mutable std::mutex mutex_;
  std::vector<std::string> tokens_;
  std::string kept_out_;  ///< why the file's last content is not in use
  std::optional<MonoTime> told_;
  std::uint64_t untold_ = 0;  ///< refusals since
};

}  // namespace tessera::service
