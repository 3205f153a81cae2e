#include "large_cluster.h"

#include <fmt/format.h>

#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "sim/api_server.h"
#include "sim/synthetic_size.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kMerge = "application/merge-patch+json";

/// What runs in the child. Questions: "kubeconfig", "watches", "churn EVENTS".
class Host {
 public:
  Host(const sim::SyntheticCluster& made, std::int64_t quotas)
      : made_(made),
        quotas_(quotas),
        device_pods_{made.options().device_pods, &sim::SyntheticCluster::device_pod_name,
                     &sim::SyntheticCluster::device_pod_json},
        plain_pods_{made.options().plain_pods, &sim::SyntheticCluster::plain_pod_name,
                    &sim::SyntheticCluster::plain_pod_json} {}

  Status fill();
  Result<std::string> answer(const std::string& question);

 private:
  /// The pods of one sort. They are replaced in turns, the oldest first.
  struct Pods {
    std::int64_t count = 0;
    std::string (sim::SyntheticCluster::*name)(std::int64_t, std::int64_t) const;
    std::string (sim::SyntheticCluster::*object)(std::int64_t, std::int64_t) const;
    std::int64_t replaced = 0;
    std::int64_t generation(std::int64_t i) const {
      return replaced / count + (i < replaced % count ? 1 : 0);
    }
  };
  Status call(std::string_view method, std::string_view path, std::string_view body,
              std::string_view type = "application/json");
  std::string path_of(const Pods& pods, std::int64_t i) const;
  Status create(const Pods& pods, std::int64_t i);
  Status make_spaces();
  Status churn(std::int64_t events);
  Status replace(Pods& pods);
  Status change(std::int64_t step);
  Status beat(std::int64_t step);
  std::int64_t watches() const;

  const sim::SyntheticCluster& made_;
  const std::int64_t quotas_;
  SystemClock clock_;
  std::unique_ptr<sim::ApiServer> api_;
  Pods device_pods_, plain_pods_;
  std::int64_t beats_ = 0;
};

Status Host::call(std::string_view method, std::string_view path, std::string_view body,
                  std::string_view type) {
  const auto answer = api_->request(method, path, body, type);
  if (answer.status == 200 || answer.status == 201) return {};
  return fail(Code::kInternal, fmt::format("{} {}: {}", method, path, answer.body));
}

Status Host::make_spaces() {
  for (std::int64_t i = 0; i < made_.options().namespaces; ++i) {
    const std::string name = made_.name_space(i);
    if (auto status = call("POST", "/api/v1/namespaces",
                           fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
        !status)
      return status;
    if (i >= quotas_) continue;
    const std::string quota =
        R"({"metadata":{"name":"devices"},"spec":{"hard":{"limits.nvidia.com/gpu":"100000"}}})";
    if (auto status =
            call("POST", fmt::format("/api/v1/namespaces/{}/resourcequotas", name), quota);
        !status)
      return status;
  }
  return {};
}

Status Host::fill() {
  // Changes are kept for a moment of churn, not for all objects of the cluster.
  auto api = sim::ApiServer::start({}, clock_);
  if (!api) return tl::unexpected(api.error());
  api_ = std::move(*api);
  if (auto status = make_spaces(); !status) return status;
  for (std::int64_t n = 0; n < made_.options().nodes; ++n)
    if (auto status = call("POST", "/api/v1/nodes", made_.node_json(n)); !status) return status;
  for (const Pods* pods : {&device_pods_, &plain_pods_})
    for (std::int64_t i = 0; i < pods->count; ++i)
      if (auto status = create(*pods, i); !status) return status;
  return {};
}

std::string Host::path_of(const Pods& pods, std::int64_t i) const {
  return fmt::format("{}/{}", made_.pods_path(i), (made_.*pods.name)(i, pods.generation(i)));
}

Status Host::create(const Pods& pods, std::int64_t i) {
  return call("POST", made_.pods_path(i), (made_.*pods.object)(i, pods.generation(i)));
}

/// The oldest goes, its successor comes.
Status Host::replace(Pods& pods) {
  const std::int64_t oldest = pods.replaced % pods.count;
  if (auto status = call("DELETE", path_of(pods, oldest) + "?gracePeriodSeconds=0", ""); !status)
    return status;
  ++pods.replaced;
  return create(pods, oldest);
}

Status Host::beat(std::int64_t step) {
  const std::string node = "/api/v1/nodes/" + made_.node_name(beats_++ % made_.options().nodes);
  if (beats_ % 4 != 0) return call("PATCH", node + "/status", sim::heartbeat_status(step), kMerge);
  return call(
      "PATCH", node,
      fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/node-handshake":"Reported {}"}}}}}})",
                  step),
      kMerge);
}

/// An annotation that is nobody's business here.
Status Host::change(std::int64_t step) {
  const Pods& pods = step % 2 == 0 ? plain_pods_ : device_pods_;
  return call("PATCH", path_of(pods, step * 7919 % pods.count),
              fmt::format(R"({{"metadata":{{"annotations":{{"example.com/step":"{}"}}}}}})", step),
              kMerge);
}

/// In rounds of eight: a pod of each sort goes and one comes, a pod of each sort changes, two nodes
/// report.
Status Host::churn(std::int64_t events) {
  for (std::int64_t done = 0; done < events; done += 8) {
    const std::int64_t step = beats_ + 1;
    Status status = replace(plain_pods_);
    if (status) status = replace(device_pods_);
    if (status) status = change(step);
    if (status) status = change(step + 1);
    if (status) status = beat(step);
    if (status) status = beat(step + 1);
    if (!status) return status;
  }
  return {};
}

std::int64_t Host::watches() const {
  std::uint64_t sum = 0;
  for (const auto& [what, count] : api_->request_counts())
    if (what.find("|WATCH pods") != std::string::npos ||
        what.find("|WATCH nodes") != std::string::npos)
      sum += count;
  return static_cast<std::int64_t>(sum);
}

Result<std::string> Host::answer(const std::string& question) {
  constexpr std::string_view kChurn = "churn ";
  if (question == "kubeconfig") return api_->kubeconfig();
  if (question == "watches") return std::to_string(watches());
  if (!question.starts_with(kChurn)) return fail(Code::kInvalid, "unknown question " + question);
  const auto events = text::parse_int(std::string_view(question).substr(kChurn.size()), 64);
  if (!events) return tl::unexpected(events.error());
  if (Status status = churn(*events); !status) return tl::unexpected(status.error());
  return std::string();
}

}  // namespace

Result<std::unique_ptr<LargeCluster>> LargeCluster::start(const LargeClusterOptions& options) {
  auto made = sim::SyntheticCluster::make({.nodes = options.nodes,
                                           .device_pods = options.device_pods,
                                           .plain_pods = options.plain_pods,
                                           .real_size = true,
                                           .namespaces = options.namespaces});
  if (!made) return tl::unexpected(made.error());
  std::unique_ptr<LargeCluster> cluster(new LargeCluster(std::move(*made)));
  auto host = std::make_shared<std::unique_ptr<Host>>();  // made in the child only
  auto process = HostProcess::start(
      {.begin =
           [&cluster, &options, host] {
             *host = std::make_unique<Host>(cluster->made_, options.quotas);
             return (*host)->fill();
           },
       .answer = [host](const std::string& question) { return (*host)->answer(question); }});
  if (!process) return tl::unexpected(process.error());
  cluster->host_ = std::move(*process);
  auto config = cluster->host_->ask("kubeconfig");
  if (!config) return tl::unexpected(config.error());
  cluster->kubeconfig_ = std::move(*config);
  return cluster;
}

Status LargeCluster::churn(std::int64_t events) {
  const auto done = host_->ask(fmt::format("churn {}", events));
  return done ? Status{} : tl::unexpected(done.error());
}

Result<std::int64_t> LargeCluster::watches() {
  const auto answer = host_->ask("watches");
  return answer ? text::parse_int(*answer, 64) : tl::unexpected(answer.error());
}

}  // namespace tessera::bench
