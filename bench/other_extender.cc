#include "other_extender.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/text.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenTries = 200ms;

/// What an extender says of a node whose cards it has not taken up yet.
constexpr std::string_view kUnknownNode = "node unregistered";

class Asked {
 public:
  Asked(FilterStage& stage, LoadClient& client, const ExtenderUrl& url)
      : stage_(stage), client_(client), path_(url.path + "/filter") {}

  /// A pod of the usual kind (what the case asks for may fit nowhere) may go to the last node only,
  /// and does.
  Status places_a_pod() {
    const auto answer = ask({.memory = 1, .cores = 1}, {.begin = stage_.nodes() - 1, .count = 1});
    if (!answer) return tl::unexpected(answer.error());
    if (answer->verdict.named == 1) return {};
    return not_ready("it does not place a pod on the last node", *answer);
  }

  /// A pod that fits nowhere is refused, and of no node because it is unknown: who knows half of
  /// the nodes has half of the work.
  Status knows_all_nodes() {
    const auto answer = ask({.memory = too_much()}, stage_.all_nodes());
    if (!answer) return tl::unexpected(answer.error());
    const auto& refused = answer->verdict.refused;
    if (static_cast<std::int64_t>(refused.size()) != stage_.nodes())
      return not_ready(fmt::format("of a pod that fits nowhere it refuses {} of {} nodes",
                                   refused.size(), stage_.nodes()),
                       *answer);
    const auto unknown = std::count_if(refused.begin(), refused.end(),
                                       [](const auto& one) { return one.second == kUnknownNode; });
    if (unknown == 0) return {};
    return fail(Code::kUnavailable,
                fmt::format("it does not know {} of {} nodes", unknown, stage_.nodes()));
  }

 private:
  struct Answer {
    FilterVerdict verdict;
    std::string body;
  };

  Result<Answer> ask(const sim::SyntheticShare& share, const CallNodes& nodes) {
    const auto call = stage_.come(stage_.cluster().asking_pod(stage_.next_name(), share), nodes);
    if (!call) return tl::unexpected(call.error());
    std::this_thread::sleep_for(kBetweenTries);
    auto answer = client_.exchange(post(path_, call->body));
    if (auto gone = stage_.go(*call); !gone) return tl::unexpected(gone.error());
    if (!answer) return tl::unexpected(answer.error());
    auto verdict = read_verdict(stage_, *answer);
    if (!verdict) return tl::unexpected(verdict.error());
    return Answer{std::move(*verdict), std::move(answer->body)};
  }

  std::int64_t too_much() const {
    std::int64_t most = 0;
    for (const auto& kind : stage_.cluster().options().cards) most = std::max(most, kind.memory);
    return most + 1;
  }

  static Status not_ready(const std::string& what, const Answer& answer) {
    return fail(Code::kUnavailable, what + ": " + answer.body.substr(0, 300));
  }

  FilterStage& stage_;
  LoadClient& client_;
  const std::string path_;
};

Status try_once(FilterStage& stage, LoadClient& client, const ExtenderUrl& url) {
  Asked asked(stage, client, url);
  if (auto status = asked.places_a_pod(); !status) return status;
  // Whole nodes are told in the call: there is none to be known before.
  return stage.whole_nodes() ? Status{} : asked.knows_all_nodes();
}

}  // namespace

Result<ExtenderUrl> parse_extender_url(std::string_view url) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::kInvalid,
                fmt::format("--compare {}: {}; must be http://127.0.0.1:PORT[/prefix]", url, why));
  };
  std::string_view rest = url;
  const std::string_view scheme = "http://";
  if (!rest.starts_with(scheme)) return wrong("no plain HTTP");
  rest.remove_prefix(scheme.size());
  const auto slash = rest.find('/');
  std::string path(slash == std::string_view::npos ? "" : rest.substr(slash));
  while (path.ends_with('/')) path.pop_back();
  rest = rest.substr(0, slash);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) return wrong("no port");
  const std::string_view host = rest.substr(0, colon);
  if (host != "127.0.0.1" && host != "localhost") return wrong("not this machine");
  const auto port = text::parse_int(rest.substr(colon + 1), 32);
  if (!port || *port < 1 || *port > 65535) return wrong("no port");
  return ExtenderUrl{static_cast<std::uint16_t>(*port), std::move(path)};
}

Result<std::unique_ptr<LoadClient>> wait_for_extender(FilterStage& stage, const ExtenderUrl& url,
                                                      const std::string& kubeconfig_out,
                                                      std::chrono::seconds patience) {
  fmt::print(stderr,
             "waiting at most {} s for the other extender at http://127.0.0.1:{}{}/filter; it must "
             "watch the API server {}{}\n",
             patience.count(), url.port, url.path, stage.api().url(),
             kubeconfig_out.empty() ? "" : ", kubeconfig " + kubeconfig_out);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string last = "it does not listen";
  while (std::chrono::steady_clock::now() < end) {
    auto client = LoadClient::connect(url.port);
    if (client) {
      const Status status = try_once(stage, **client, url);
      if (status) return std::move(*client);
      last = status.error().what;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  return fail(Code::kUnavailable,
              fmt::format("--compare: http://127.0.0.1:{}{} was not ready after "
                          "{} s: {}",
                          url.port, url.path, patience.count(), last));
}

}  // namespace tessera::bench
