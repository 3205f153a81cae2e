#include "other_extender.h"

#include <fmt/format.h>

#include <cstdio>
#include <thread>
#include <utility>

#include "base/text.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenTries = 200ms;

/// It has seen the cluster once a call that names nothing but the last node gets that node.
Status try_once(FilterStage& stage, LoadClient& client, const ExtenderUrl& url,
                sim::ScenarioPod pod) {
  pod.name = stage.next_name();
  const auto call = stage.come(pod, {.begin = stage.nodes() - 1, .count = 1});
  if (!call) return tl::unexpected(call.error());
  std::this_thread::sleep_for(kBetweenTries);
  const auto answer = client.exchange(post(url.path + "/filter", call->body));
  if (auto gone = stage.go(*call); !gone) return gone;
  if (!answer) return tl::unexpected(answer.error());
  const auto verdict = read_verdict(stage, *answer);
  if (!verdict) return tl::unexpected(verdict.error());
  if (verdict->named == 1) return {};
  return fail(Code::kUnavailable,
              "it does not place a pod on the last node: " + answer->body.substr(0, 300));
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
                                                      const sim::ScenarioPod& sample,
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
      const Status status = try_once(stage, **client, url, sample);
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
