#include "live_run.h"

#include <fmt/format.h>

#include <utility>

#include "large_server.h"

namespace tessera::bench {
namespace {

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

std::vector<std::string> unlimited() { return {"--kube-qps=-1"}; }

Result<std::unique_ptr<LiveRun>> LiveRun::start(const LiveRunOptions& options,
                                                const std::string& program) {
  std::unique_ptr<LiveRun> run(new LiveRun());
  run->options_ = options;
  auto cluster = LiveCluster::start(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  run->cluster_ = std::move(*cluster);
  auto served = serve(run->cluster_->kubeconfig(), program, run->folder_, "log", options.flags);
  if (!served) return tl::unexpected(served.error());
  run->served_ = std::move(*served);
  return run;
}

Result<Row> LiveRun::round(const Round& round) {
  auto pods =
      create_pods(*cluster_, fmt::format("round-{}", ++rounds_), round.asks, round.policies);
  if (!pods) return tl::unexpected(pods.error());
  if (Status status = cluster_->set_latency(options_.latency); !status)
    return tl::unexpected(status.error());
  const auto floor = two_calls_ms();
  if (!floor) return tl::unexpected(floor.error());
  if (const auto before = cluster_->api_calls(); !before) return tl::unexpected(before.error());
  const auto cpu = served_.child->processor_time();
  auto result = run_closed_loop({served_.port, round.in_flight, cluster_->names()}, *pods);
  if (!result) return tl::unexpected(result.error());
  const std::chrono::duration<double> spent = served_.child->processor_time() - cpu;
  const auto calls = cluster_->api_calls();
  if (!calls) return tl::unexpected(calls.error());
  pods_.insert(pods_.end(), pods->begin(), pods->end());
  nodes_.merge(result->nodes);
  if (Status status = check(round); !status) return tl::unexpected(status.error());
  Row row(round.what);
  fill(row, *result, *calls, spent.count());
  row.add(kFloorP50, *floor);
  row.checked(static_cast<std::int64_t>(pods_.size()),
              "each pod bound where the filter said, with what it asked for; no card over its "
              "limits; agents saw nothing amiss");
  return row;
}

Status LiveRun::check(const Round& round) {
  if (Status status = cluster_->set_latency(std::chrono::milliseconds(0)); !status) return status;
  Status status = cluster_->check_agents(pods_.size());
  if (status) status = check_placements(*cluster_, pods_, nodes_);
  if (status) return status;
  return fail(Code::kInternal, fmt::format("{}: {}", round.what, status.error().what));
}

void LiveRun::fill(Row& row, const ClosedLoopResult& result, const ApiCalls::Figures& calls,
                   double cpu_seconds) const {
  const auto count = static_cast<double>(result.bound.count());
  row.add(kSeconds, result.seconds).add(kRate, count / result.seconds);
  row.add(kP50, milliseconds(result.bound.percentile(50)));
  row.add(kP99, milliseconds(result.bound.percentile(99)));
  row.add(kFilterP50, milliseconds(result.filter.percentile(50)));
  row.add(kFilterP99, milliseconds(result.filter.percentile(99)));
  row.add(kCpuPerPod, cpu_seconds / count * 1e6);
  row.add(kApiCalls, static_cast<double>(calls.named + calls.other) / count);
  row.add(kApiMedian, static_cast<double>(calls.median));
  row.add(kRefused, static_cast<double>(result.refused));
  row.add(kFailedBinds, static_cast<double>(result.failed_binds));
  row.add(kPeakRss, memory_mb(*served_.child, "VmHWM"));
}

Result<double> LiveRun::two_calls_ms() {
  constexpr int kCalls = 20;
  auto client = LoadClient::connect(cluster_->port());
  if (!client) return tl::unexpected(client.error());
  Latencies times;
  for (int i = 0; i < kCalls; ++i) {
    const auto answer = (*client)->exchange(get("/api/v1/nodes/" + cluster_->names().front()));
    if (!answer) return tl::unexpected(answer.error());
    times.add(answer->time);
  }
  return 2 * milliseconds(times.percentile(50));
}

}  // namespace tessera::bench
