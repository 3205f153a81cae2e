#include "service/caller_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "json/writer.h"
#include "k8s/extender.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;
constexpr std::chrono::seconds kTellEvery{60};
constexpr std::array<std::string_view, 4> kOpen = {"/webhook", "/metrics", "/healthz", "/readyz"};
constexpr std::string_view kBearer = "bearer ";

/// Takes as long for a token that is wrong at its first letter as for one wrong at its last.
bool same_secret(std::string_view sent, std::string_view known) {
  unsigned difference = sent.size() == known.size() ? 0 : 1;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const char other = known.empty() ? '\0' : known[i % known.size()];
    difference |= static_cast<unsigned char>(sent[i] ^ other);
  }
  return difference == 0;
}

std::string sent_token(const http::Request& request) {
  const std::string_view header = text::trim(request.header("authorization"));
  if (!text::equals_ignoring_case(header.substr(0, kBearer.size()), kBearer)) return {};
  return std::string(text::trim(header.substr(kBearer.size())));
}

/// kube-scheduler reads the code 200 only, and finds the words in Error where the form has one.
http::Response shaped(std::string_view path, const std::string& why) {
  if (path == "/filter") return {.body = k8s::encode_filter_error(why)};
  if (path == "/bind") return {.body = k8s::encode_bind_result(why)};
  if (path == "/prioritize" || path == "/priority") return {.body = "[]"};
  if (path == "/preempt") return {.body = R"({"NodeNameToMetaVictims":{}})"};
  json::Writer w;
  w.begin_object().key("error").string(why).end_object();
  return {.status = 401,
          .body = std::move(w).take(),
          .headers = {{"WWW-Authenticate", "Bearer realm=\"tessera\""}}};
}

}  // namespace

Result<std::vector<std::string>> read_tokens(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return fail(Code::kInvalid, text::quote(path) + ": " + why);
  };
  const Result<std::string> content = read_file(path, kMaxFile);
  if (!content) return tl::unexpected(content.error());
  std::vector<std::string> tokens;
  std::size_t number = 0;
  for (const std::string_view line : text::split(*content, '\n')) {
    ++number;
    const std::string_view token = text::trim(line);
    if (token.empty()) continue;
    if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; }))
      return refuse(fmt::format("line {} holds a character that no token has", number));
    tokens.emplace_back(token);
  }
  if (tokens.empty()) return refuse("holds no token");
  return tokens;
}

CallerCheck::CallerCheck(Options options, const Clock& clock, obs::Metrics& metrics)
    : options_(std::move(options)), clock_(clock), metrics_(metrics) {
  if (const Status read = reload(); !read)
    log::error("token file kept out: no token is good", {{"problem", read.error().what}});
}

Status CallerCheck::reload() {
  if (options_.token_file.empty()) return {};
  Result<std::vector<std::string>> tokens = read_tokens(options_.token_file);
  const std::lock_guard lock(mutex_);
  if (!tokens) {
    const bool told = std::exchange(kept_out_, tokens.error().what) == tokens.error().what;
    if (!told && !tokens_.empty()) {
      log::error("token file kept out, the tokens before stay in use",
                 {{"problem", tokens.error().what}});
    }
    return tl::unexpected(tokens.error());
  }
  kept_out_.clear();
  if (!tokens_.empty() && *tokens != tokens_)
    log::info("token file reloaded", {{"file", options_.token_file}});
  tokens_ = std::move(*tokens);
  return {};
}

std::string CallerCheck::certificate_problem(const http::Request& request) const {
  if (request.certificate && request.certificate->verified) return {};
  return fmt::format("a client certificate signed by the authority in --extender-client-ca ({})",
                     request.certificate ? request.certificate->problem : "none was shown");
}

std::string CallerCheck::token_problem(const http::Request& request) const {
  const std::string sent = sent_token(request);
  if (sent.empty())
    return "a token of --extender-token-file in the header Authorization: Bearer (none was sent)";
  const std::lock_guard lock(mutex_);
  bool known = false;
  for (const std::string& token : tokens_) known |= same_secret(sent, token);
  return known ? ""
               : "a token of --extender-token-file in the header Authorization: Bearer (the one "
                 "that was sent is unknown)";
}

std::string CallerCheck::problem(const http::Request& request) const {
  if (!on()) return {};
  std::vector<std::string> ways;
  if (options_.certificates) {
    ways.push_back(certificate_problem(request));
    if (ways.back().empty()) return {};
  }
  if (!options_.token_file.empty()) {
    ways.push_back(token_problem(request));
    if (ways.back().empty()) return {};
  }
  return fmt::format("caller is not known: {} needs {}", request.path, text::join(ways, ", or "));
}

std::optional<http::Response> CallerCheck::refusal(const http::Request& request) {
  const std::string why = problem(request);
  if (why.empty()) return std::nullopt;
  metrics_
      .counter("tessera_callers_refused_total",
               "Calls without a good client certificate or token, by path.",
               {{"path", request.path}})
      .increment();
  tell(request, why);
  return shaped(request.path, why);
}

void CallerCheck::guard(std::vector<http::Route>& routes) {
  if (!on()) return;
  for (http::Route& route : routes) {
    if (std::find(kOpen.begin(), kOpen.end(), route.path) != kOpen.end()) continue;
    route.admit = [this](const http::Request& request) { return refusal(request); };
  }
}

/// A caller that tries again and again fills the metric, not the log.
void CallerCheck::tell(const http::Request& request, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (told_ && clock_.mono() - *told_ < kTellEvery) {
    ++untold_;
    return;
  }
  log::warn("caller refused", {{"path", request.path},
                               {"problem", why},
                               {"more_since_last_told", std::exchange(untold_, 0)}});
  told_ = clock_.mono();
}

}  // namespace tessera::service
