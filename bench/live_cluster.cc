#include "live_cluster.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "obs/metrics.h"
#include "sim/agents.h"
#include "sim/api_server.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

/// What runs in the child. Questions: "kubeconfig", "latency MS", "calls", "served", "violations".
class Host {
 public:
  Host(const LiveClusterOptions& options, const sim::SyntheticCluster& made)
      : options_(options), made_(made) {}
  Status begin();
  Result<std::string> answer(const std::string& question);

 private:
  Result<std::string> set_latency(std::string_view milliseconds);
  std::string take_calls();

  const LiveClusterOptions options_;
  const sim::SyntheticCluster& made_;
  SystemClock clock_;
  obs::Metrics metrics_;
  ApiCalls calls_;
  std::unique_ptr<sim::ApiServer> api_;
  std::unique_ptr<client::ApiClient> client_;
  std::unique_ptr<sim::Agents> agents_;
};

Status Host::begin() {
  sim::ApiServer::Options options;
  options.on_request = [this](std::string_view agent, std::string_view line,
                              std::string_view body) { calls_.saw(agent, line, body); };
  auto api = sim::ApiServer::start(std::move(options), clock_);
  if (!api) return tl::unexpected(api.error());
  api_ = std::move(*api);
  client_ = std::make_unique<client::ApiClient>(
      client::Credentials{.server = api_->url()},
      client::ApiClientOptions{.user_agent = "agents", .qps = -1}, metrics_);
  agents_ = std::make_unique<sim::Agents>(
      *client_, sim::AgentOptions{.allocate_delay = options_.allocate}, clock_);
  for (std::int64_t n = 0; n < options_.nodes; ++n)
    if (Status status = agents_->add_node(made_.agent_node(n)); !status) return status;
  agents_->start();
  return {};
}

Result<std::string> Host::set_latency(std::string_view milliseconds) {
  const auto delay = text::parse_int(milliseconds, 32);
  if (!delay) return tl::unexpected(delay.error());
  api_->clear_faults();
  if (*delay > 0)
    api_->inject({.match = "", .times = -1, .delay = std::chrono::milliseconds(*delay)});
  return std::string();
}

std::string Host::take_calls() {
  const ApiCalls::Figures f = calls_.figures();
  calls_.clear();
  return fmt::format("{} {} {} {} {}", f.pods, f.named, f.other, f.median, f.most);
}

Result<std::string> Host::answer(const std::string& question) {
  if (question == "kubeconfig") return api_->kubeconfig();
  if (question == "url") return api_->url();
  if (question == "calls") return take_calls();
  if (question == "served") return std::to_string(agents_->served());
  if (question == "violations") return text::join(agents_->violations(), "\n");
  if (question.starts_with("latency ")) return set_latency(std::string_view(question).substr(8));
  return fail(Code::kInvalid, "unknown question " + question);
}

}  // namespace

Result<std::unique_ptr<LiveCluster>> LiveCluster::start(const LiveClusterOptions& options) {
  auto made = sim::SyntheticCluster::make({.nodes = options.nodes});
  if (!made) return tl::unexpected(made.error());
  auto host = std::make_shared<std::unique_ptr<Host>>();  // made in the child only
  auto process = HostProcess::start(
      {.begin =
           [&options, &made, host] {
             *host = std::make_unique<Host>(options, *made);
             return (*host)->begin();
           },
       .answer = [host](const std::string& question) { return (*host)->answer(question); }});
  if (!process) return tl::unexpected(process.error());
  std::unique_ptr<LiveCluster> cluster(new LiveCluster(std::move(*made)));
  cluster->host_ = std::move(*process);
  auto config = cluster->host_->ask("kubeconfig");
  if (!config) return tl::unexpected(config.error());
  cluster->kubeconfig_ = std::move(*config);
  const auto url = cluster->host_->ask("url");
  if (!url) return tl::unexpected(url.error());
  const auto port = text::parse_int(std::string_view(*url).substr(url->rfind(':') + 1), 32);
  if (!port) return tl::unexpected(port.error());
  cluster->port_ = static_cast<std::uint16_t>(*port);
  for (std::int64_t n = 0; n < options.nodes; ++n)
    cluster->names_.push_back(cluster->made_.node_name(n));
  return cluster;
}

Status LiveCluster::set_latency(std::chrono::milliseconds latency) {
  const auto done = host_->ask(fmt::format("latency {}", latency.count()));
  return done ? Status{} : tl::unexpected(done.error());
}

Result<ApiCalls::Figures> LiveCluster::api_calls() {
  const auto answer = host_->ask("calls");
  if (!answer) return tl::unexpected(answer.error());
  std::vector<std::uint64_t> numbers;
  for (const std::string_view word : text::split(*answer, ' '))
    numbers.push_back(static_cast<std::uint64_t>(text::parse_int(word, 64).value_or(0)));
  if (numbers.size() != 5) return fail(Code::kInternal, "calls: " + *answer);
  ApiCalls::Figures figures{.pods = numbers[0], .named = numbers[1], .other = numbers[2]};
  figures.median = numbers[3];
  figures.most = numbers[4];
  if (figures.pods > 0)
    figures.mean =
        static_cast<double>(figures.named + figures.other) / static_cast<double>(figures.pods);
  return figures;
}

Status LiveCluster::check_agents(std::uint64_t served) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::string seen;
  while (seen != std::to_string(served)) {
    if (std::chrono::steady_clock::now() > end)
      return fail(Code::kInternal, fmt::format("the agents served {} pods, not {}", seen, served));
    auto now = host_->ask("served");
    if (!now) return tl::unexpected(now.error());
    seen = std::move(*now);
    std::this_thread::sleep_for(10ms);
  }
  const auto broken = host_->ask("violations");
  if (!broken) return tl::unexpected(broken.error());
  return broken->empty() ? Status{} : fail(Code::kInternal, "the agents saw: " + *broken);
}

}  // namespace tessera::bench
