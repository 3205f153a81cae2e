#include "stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "base/text.h"
#include "json/reader.h"
#include "json/writer.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

sim::SyntheticOptions cluster_of(const StageOptions& options) {
  sim::SyntheticOptions cluster;
  cluster.nodes = options.nodes;
  cluster.device_pods = options.nodes * options.pods_per_node;
  cluster.cards.front().count = kCards;
  cluster.cards.front().memory = kCardMemory;
  cluster.shares = {{.memory = kPodMemory, .cores = kPodCores}};
  cluster.node_policy = options.node_policy;
  cluster.device_policy = options.device_policy;
  return cluster;
}

Status wait_ready(std::uint16_t port) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    auto client = LoadClient::connect(port);
    if (client) {
      const auto answer = (*client)->exchange(get("/readyz"));
      if (answer && answer->status == 200) return {};
    }
    std::this_thread::sleep_for(20ms);
  }
  return fail(Code::kUnavailable, "the server was not ready after 60 s");
}

}  // namespace

Stage::Stage(StageOptions options) : options_(std::move(options)) {}

Status Stage::fill() {
  auto cluster = sim::SyntheticCluster::make(cluster_of(options_));
  if (!cluster) return tl::unexpected(cluster.error());
  cluster_.emplace(std::move(*cluster));
  auto api = sim::ApiServer::start({}, clock_);
  if (!api) return tl::unexpected(api.error());
  api_ = std::move(*api);
  for (std::int64_t n = 0; n < options_.nodes; ++n) {
    if (auto status = create("/api/v1/nodes", cluster_->node_json(n)); !status) return status;
    names_.push_back(cluster_->node_name(n));
  }
  for (std::int64_t i = 0; i < options_.nodes * options_.pods_per_node; ++i)
    if (auto status = create(kPods, cluster_->device_pod_json(i)); !status) return status;
  return {};
}

Result<Stage::Asking> Stage::next_pod() {
  if (serial_ > 0) {
    const auto gone =
        api_->request("DELETE", fmt::format("{}/asking-{}?gracePeriodSeconds=0", kPods, serial_));
    if (gone.status != 200) return fail(Code::kInternal, "delete of a pod: " + gone.body);
  }
  ++serial_;
  Asking asking{.name = fmt::format("asking-{}", serial_), .uid = {}, .filter_body = {}};
  const auto pod = cluster_->asking_pod(asking.name, {.memory = kPodMemory, .cores = kPodCores});
  const auto made = api_->request("POST", kPods, cluster_->asking_pod_json(pod));
  if (made.status != 201) return fail(Code::kInternal, "create of a pod: " + made.body);
  json::Parser parser;
  const auto read = parser.parse(made.body);
  if (!read) return tl::unexpected(read.error());
  asking.uid = (*read)["metadata"]["uid"].string_or("");
  json::Writer w;
  w.begin_object().key("Pod").raw(made.body).key("Nodes").null().key("NodeNames").begin_array();
  for (const auto& node : names_) w.string(node);
  w.end_array().end_object();
  asking.filter_body = std::move(w).take();
  return asking;
}

Result<std::string> Stage::next_call() {
  auto asking = next_pod();
  if (!asking) return tl::unexpected(asking.error());
  return std::move(asking->filter_body);
}

Status Stage::create(std::string_view path, const std::string& object) {
  const auto answer = api_->request("POST", path, object);
  if (answer.status == 201) return {};
  return fail(Code::kInternal, fmt::format("POST {}: {}", path, answer.body));
}

Status check_answer(const LoadClient::Answer& answer, std::size_t nodes) {
  json::Parser parser;
  const auto read = parser.parse(answer.body);
  if (answer.status != 200 || !read) {
    return fail(Code::kInternal, fmt::format("filter: {} {}", answer.status, answer.body));
  }
  if ((*read)["NodeNames"].size() == nodes && (*read)["Error"].string_or("?").empty()) return {};
  return fail(Code::kInternal, "filter placed nothing: " + answer.body.substr(0, 400));
}

Result<std::string> placed_node(const LoadClient::Answer& answer) {
  if (Status status = check_answer(answer, 1); !status) return tl::unexpected(status.error());
  json::Parser parser;
  const auto read = parser.parse(answer.body);
  if (!read) return tl::unexpected(read.error());
  std::string node;
  (*read)["NodeNames"].for_each_element([&](json::Value name) { node = name.string_or(""); });
  return node;
}

Status check_scores(const LoadClient::Answer& answer, const std::vector<std::string>& hosts) {
  json::Parser parser;
  const auto list = parser.parse(answer.body);
  if (answer.status != 200 || !list)
    return fail(Code::kInternal, fmt::format("prioritize: {} {}", answer.status, answer.body));
  std::size_t at = 0;
  std::int64_t best = -1;
  bool sound = true;
  list->for_each_element([&](json::Value entry) {
    const std::int64_t score = entry["Score"].integer().value_or(-1);
    sound = sound && at < hosts.size() && entry["Host"].string_or("") == hosts[at++] &&
            score >= 0 && score <= 10;
    best = std::max(best, score);
  });
  if (sound && at == hosts.size() && best == 10) return {};
  return fail(Code::kInternal, "prioritize answers amiss: " + answer.body.substr(0, 400));
}

double metric(std::string_view page, std::string_view name_and_labels) {
  for (const std::string_view line : text::split(page, '\n')) {
    if (line.starts_with(name_and_labels) && line.substr(name_and_labels.size()).starts_with(' '))
      return std::strtod(std::string(line.substr(name_and_labels.size() + 1)).c_str(), nullptr);
  }
  return -1;
}

Result<Served> serve(Stage& stage, const Folder& folder, const std::string& log,
                     const std::vector<std::string>& more) {
  const StageOptions& options = stage.options();
  std::vector<std::string> flags = {"--node-scheduler-policy=" + options.node_policy,
                                    "--gpu-scheduler-policy=" + options.device_policy};
  flags.insert(flags.end(), more.begin(), more.end());
  return serve(stage.kubeconfig(), options.program, folder, log, flags);
}

Result<Served> serve(const std::string& kubeconfig, const std::string& program,
                     const Folder& folder, const std::string& log,
                     const std::vector<std::string>& more,
                     const std::vector<std::string>& environment) {
  std::ofstream(folder.file("kubeconfig")) << kubeconfig;
  std::vector<std::string> command = {
      program.empty() ? program_beside() : program, "serve",
      "--kubeconfig=" + folder.file("kubeconfig"),  "--http_bind=127.0.0.1:0",
      "--metrics-bind-address=127.0.0.1:0",         "--scheduler-name=hami-scheduler"};
  command.insert(command.end(), more.begin(), more.end());
  auto child = ChildProcess::start(command, folder.file(log), environment);
  if (!child) return tl::unexpected(child.error());
  const auto port = (*child)->announced_port();
  if (!port) return tl::unexpected(port.error());
  const auto metrics_port = (*child)->announced_port("metrics_port");
  if (!metrics_port) return tl::unexpected(metrics_port.error());
  if (auto status = wait_ready(*port); !status) return tl::unexpected(status.error());
  return Served{std::move(*child), *port, *metrics_port};
}

}  // namespace tessera::bench
