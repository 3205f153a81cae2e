// The webhook as an API server calls it: over TLS, connections kept, reviews of a pod with a device
// and of one without. Every answer is checked, outside its own time but within the rate. The floor
// is a probe over the same kind of connections.
#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "admission_review.h"
#include "certificate.h"
#include "heap_counter.h"
#include "large_server.h"
#include "scenario.h"
#include "scenario_arguments.h"
#include "stage.h"
#include "tls_load.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kReviews = 64;  ///< that differ by their uid and name
constexpr std::string_view kFloorRate = "floor_per_second", kBodyBytes = "body_bytes";

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

struct Webhook {
  std::unique_ptr<ChildProcess> child;
  std::uint16_t port = 0;
};

Status wait_ready(std::uint16_t port) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  Status last;
  while (std::chrono::steady_clock::now() < end) {
    const auto found = run_tls_load(
        {.port = port, .connections = 1, .calls = 1, .warm_up = 0, .requests = {get("/readyz")}});
    if (found) return {};
    last = tl::unexpected(found.error());
    std::this_thread::sleep_for(20ms);
  }
  return last;
}

Result<Webhook> start_webhook(const Stage& stage, const Folder& folder,
                              const std::vector<std::string>& environment) {
  const std::string certificate = folder.file("tls.crt"), key = folder.file("tls.key");
  if (Status status = write_certificate(certificate, key); !status)
    return tl::unexpected(status.error());
  std::ofstream(folder.file("kubeconfig")) << stage.kubeconfig();
  const std::string& program = stage.options().program;
  auto child =
      ChildProcess::start({program.empty() ? program_beside() : program, "serve",
                           "--kubeconfig=" + folder.file("kubeconfig"), "--http_bind=127.0.0.1:0",
                           "--metrics-bind-address=127.0.0.1:0", "--scheduler-name=hami-scheduler",
                           "--cert_file=" + certificate, "--key_file=" + key},
                          folder.file("log"), environment);
  if (!child) return tl::unexpected(child.error());
  const auto port = (*child)->announced_port();
  if (!port) return tl::unexpected(port.error());
  if (Status status = wait_ready(*port); !status) return tl::unexpected(status.error());
  return Webhook{std::move(*child), *port};
}

struct Load {
  int connections = 1;
  std::int64_t calls = 0, warm_up = 0;
};

std::vector<std::string> reviews_of(ReviewedPod pod) {
  std::vector<std::string> requests;
  for (int i = 0; i < kReviews; ++i) requests.push_back(review_request(pod, i));
  return requests;
}

struct Measured {
  TlsLoadResult load;
  double cpu_us = 0, heap = 0;  ///< per call; heap only with a counter
};

Result<Measured> drive(const Webhook& webhook, ReviewedPod pod, const Load& load,
                       const HeapCounter* heap) {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t asked = 0;
  AnswerCheck check(pod, kReviews);
  TlsLoadOptions options{.port = webhook.port,
                         .connections = load.connections,
                         .calls = load.calls,
                         .warm_up = load.warm_up,
                         .requests = reviews_of(pod)};
  options.check = [&check](std::string_view body) { return check(body); };
  options.warmed_up = [&] {
    cpu = webhook.child->processor_time();
    asked = heap != nullptr ? heap->count() : 0;
  };
  auto found = run_tls_load(options);
  if (!found) return tl::unexpected(found.error());
  Measured measured{.load = std::move(*found)};
  const auto calls = static_cast<double>(load.calls);
  measured.cpu_us =
      static_cast<double>((webhook.child->processor_time() - cpu).count()) / calls / 1e3;
  if (heap != nullptr) measured.heap = static_cast<double>(heap->count() - asked) / calls;
  return measured;
}

/// A probe: hardly anything but TLS and HTTP.
Result<TlsLoadResult> floor_of(const Webhook& webhook, const Load& load) {
  return run_tls_load({.port = webhook.port,
                       .connections = load.connections,
                       .calls = load.calls / 4,
                       .warm_up = load.warm_up / 4,
                       .requests = {get("/healthz")}});
}

Result<Row> measure(const Webhook& webhook, ReviewedPod pod, const Load& load, double heap) {
  const auto floor = floor_of(webhook, load);
  if (!floor) return tl::unexpected(floor.error());
  const auto measured = drive(webhook, pod, load, nullptr);
  if (!measured) return tl::unexpected(measured.error());
  Row row(fmt::format("{} pod, {} connection{}", pod == ReviewedPod::kDevice ? "device" : "plain",
                      load.connections, load.connections == 1 ? "" : "s"));
  row.add(kRate, measured->load.per_second());
  row.add(kP50, milliseconds(measured->load.times.percentile(50)));
  row.add(kP99, milliseconds(measured->load.times.percentile(99)));
  row.add(kFloorRate, floor->per_second());
  row.add(kFloorP50, milliseconds(floor->times.percentile(50)));
  row.add(kCpu, measured->cpu_us).add(kAllocations, heap);
  row.add(kBodyBytes, static_cast<double>(review_request(pod, 0).size()));
  row.add(kPeakRss, memory_mb(*webhook.child, "VmHWM"));
  row.checked(load.calls + load.warm_up,
              "allowed, the whole answer that of the first but for the uid, the first one's patch "
              "read");
  return row;
}

/// A server of its own: counting costs a little.
Result<double> heap_per_call(const Stage& stage, ReviewedPod pod, const Load& load) {
  const Folder folder;
  const HeapCounter heap(folder);
  const auto webhook = start_webhook(stage, folder, heap.environment());
  if (!webhook) return tl::unexpected(webhook.error());
  const auto measured = drive(*webhook, pod, load, &heap);
  if (!measured) return tl::unexpected(measured.error());
  return measured->heap;
}

}  // namespace

Result<Report> run_w1(const ScenarioOptions& options) {
  std::int64_t calls = options.quick ? 400 : 40'000;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(options, {{"calls", &calls, 100}}); !status)
    return tl::unexpected(status.error());
  Stage stage({.program = options.program, .nodes = 10});
  if (Status status = stage.fill(); !status) return tl::unexpected(status.error());
  const Folder folder;
  const auto webhook = start_webhook(stage, folder, {});
  if (!webhook) return tl::unexpected(webhook.error());
  Report report{.scenario = "W1", .setting = {}, .rows = {}};
  for (const ReviewedPod pod : {ReviewedPod::kDevice, ReviewedPod::kPlain}) {
    const auto heap = heap_per_call(stage, pod, {1, calls / 10, calls / 20});
    if (!heap) return tl::unexpected(heap.error());
    for (const int connections : {1, 16}) {
      const Load load{connections, connections == 1 ? calls / 4 : calls, calls / 20};
      auto row = measure(*webhook, pod, load, *heap);
      if (!row) return tl::unexpected(row.error());
      if (!options.quick && pod == ReviewedPod::kDevice && connections == 16)
        row->must_reach(kRate, 5'000, 15'000);
      report.rows.push_back(std::move(*row));
    }
  }
  const auto floor = floor_of(*webhook, {1, 4, 0});
  report.setting = fmt::format(
      "reviews of a Deployment's pod with managed fields, as a kube-apiserver sends them; {}; the "
      "client, which has one thread, shares the machine; floor: GET /healthz",
      floor ? floor->protocol : "TLS");
  return report;
}

}  // namespace tessera::bench
