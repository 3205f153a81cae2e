#include "large_cluster.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "large_objects.h"
#include "sim/api_server.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kMerge = "application/merge-patch+json";

bool send_line(int to, std::string line) {
  line += '\n';
  return send(to, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

/// The next line, without its end; "" when the other side is gone.
std::string next_line(int from, std::string& received) {
  for (;;) {
    if (const auto end = received.find('\n'); end != std::string::npos) {
      std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t count = recv(from, buffer, sizeof buffer, 0);
    if (count <= 0) return {};
    received.append(buffer, static_cast<std::size_t>(count));
  }
}

/// What runs in the child.
class Host {
 public:
  explicit Host(const LargeClusterOptions& options) : options_(options) {}

  Status fill();
  Status churn(std::int64_t events);
  std::int64_t watches() const;
  std::string kubeconfig() const { return api_->kubeconfig(); }

 private:
  struct Live {
    std::string path;
    std::int64_t node = 0, card = 0;
  };
  Status call(std::string_view method, std::string_view path, std::string_view body,
              std::string_view type = "application/json");
  std::string pods_of(std::int64_t serial) const {
    return fmt::format("/api/v1/namespaces/{}/pods", large_namespace(serial % options_.namespaces));
  }
  Status add_device_pod(std::int64_t node, std::int64_t card);
  Status add_plain_pod();
  Status make_spaces();
  Status replace(std::deque<Live>& pods, const std::function<Status(const Live&)>& add);
  Status change(std::int64_t step);
  Status beat(std::int64_t step);

  const LargeClusterOptions options_;
  SystemClock clock_;
  std::unique_ptr<sim::ApiServer> api_;
  std::deque<Live> device_pods_, plain_pods_;
  std::int64_t device_serial_ = 0, plain_serial_ = 0, beats_ = 0;
};

Status Host::call(std::string_view method, std::string_view path, std::string_view body,
                  std::string_view type) {
  const auto answer = api_->request(method, path, body, type);
  if (answer.status == 200 || answer.status == 201) return {};
  return fail(Code::kInternal, fmt::format("{} {}: {}", method, path, answer.body));
}

Status Host::make_spaces() {
  for (std::int64_t i = 0; i < options_.namespaces; ++i) {
    const std::string name = large_namespace(i);
    if (auto status = call("POST", "/api/v1/namespaces",
                           fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
        !status)
      return status;
    if (i >= options_.quotas) continue;
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
  for (std::int64_t n = 0; n < options_.nodes; ++n)
    if (auto status = call("POST", "/api/v1/nodes", large_node(n)); !status) return status;
  for (std::int64_t i = 0; i < options_.device_pods; ++i) {
    const std::int64_t card = i / options_.nodes % kLargeCards;
    if (auto status = add_device_pod(i % options_.nodes, card); !status) return status;
  }
  for (std::int64_t i = 0; i < options_.plain_pods; ++i)
    if (auto status = add_plain_pod(); !status) return status;
  return {};
}

Status Host::add_device_pod(std::int64_t node, std::int64_t card) {
  const std::int64_t serial = device_serial_++;
  const std::string path = pods_of(serial);
  device_pods_.push_back({fmt::format("{}/device-{:08}", path, serial), node, card});
  return call("POST", path, large_device_pod(serial, node, card));
}

Status Host::add_plain_pod() {
  const std::int64_t serial = plain_serial_++;
  const std::string path = pods_of(serial);
  plain_pods_.push_back({fmt::format("{}/plain-{:08}", path, serial)});
  return call("POST", path, large_plain_pod(serial, serial % options_.nodes));
}

/// The oldest goes, a new one comes.
Status Host::replace(std::deque<Live>& pods, const std::function<Status(const Live&)>& add) {
  const Live gone = std::move(pods.front());
  pods.pop_front();
  if (auto status = call("DELETE", gone.path + "?gracePeriodSeconds=0", ""); !status) return status;
  return add(gone);
}

Status Host::beat(std::int64_t step) {
  const std::string node = "/api/v1/nodes/" + large_node_name(beats_++ % options_.nodes);
  if (beats_ % 4 != 0) return call("PATCH", node + "/status", node_heartbeat(step), kMerge);
  return call(
      "PATCH", node,
      fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/node-handshake":"Reported {}"}}}}}})",
                  step),
      kMerge);
}

/// An annotation that is nobody's business here.
Status Host::change(std::int64_t step) {
  const std::deque<Live>& pods = step % 2 == 0 ? plain_pods_ : device_pods_;
  const Live& pod = pods[static_cast<std::size_t>(step * 7919) % pods.size()];
  return call("PATCH", pod.path,
              fmt::format(R"({{"metadata":{{"annotations":{{"example.com/step":"{}"}}}}}})", step),
              kMerge);
}

/// In rounds of eight: a pod of each kind goes and one comes, a pod of each kind changes, two nodes
/// report.
Status Host::churn(std::int64_t events) {
  for (std::int64_t done = 0; done < events; done += 8) {
    const std::int64_t step = beats_ + 1;
    Status status = replace(plain_pods_, [this](const Live&) { return add_plain_pod(); });
    if (status)
      status = replace(device_pods_,
                       [this](const Live& gone) { return add_device_pod(gone.node, gone.card); });
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

std::string reply_of(const Status& status, const std::string& good) {
  if (status) return "ok " + good;
  std::string what = status.error().what;
  for (char& c : what)
    if (c == '\n') c = ' ';
  return "error " + what;
}

void serve_host(int socket, const LargeClusterOptions& options) {
  Host host(options);
  const Status filled = host.fill();
  const std::string config = filled ? host.kubeconfig() : std::string();
  if (!send_line(socket, reply_of(filled, text::base64_encode(config)))) return;
  std::string received;
  for (;;) {
    const std::string line = next_line(socket, received);
    if (line.empty()) return;
    if (line == "watches") {
      send_line(socket, "ok " + std::to_string(host.watches()));
      continue;
    }
    const auto events = text::parse_int(line, 64);
    const Status done = events ? host.churn(*events) : fail(Code::kInvalid, line);
    send_line(socket, reply_of(done, ""));
  }
}

}  // namespace

Result<std::unique_ptr<LargeCluster>> LargeCluster::start(const LargeClusterOptions& options) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Code::kUnavailable, std::string("socketpair: ") + std::strerror(errno));
  const pid_t id = fork();
  if (id < 0) return fail(Code::kUnavailable, std::string("fork: ") + std::strerror(errno));
  if (id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    serve_host(ends[1], options);
    _exit(0);
  }
  close(ends[1]);
  std::unique_ptr<LargeCluster> cluster(new LargeCluster(id, ends[0]));
  const auto config = cluster->reply();
  if (!config) return tl::unexpected(config.error());
  const auto text = text::base64_decode(*config);
  if (!text) return tl::unexpected(text.error());
  cluster->kubeconfig_ = *text;
  return cluster;
}

LargeCluster::~LargeCluster() {
  close(socket_);
  kill(id_, SIGKILL);  // gigabytes of objects need not be taken apart
  waitpid(id_, nullptr, 0);
}

Result<std::string> LargeCluster::reply() {
  const std::string line = next_line(socket_, received_);
  if (line.starts_with("ok ")) return line.substr(3);
  return fail(Code::kInternal, line.empty() ? "the stage has ended" : "the stage: " + line);
}

Result<std::string> LargeCluster::ask(const std::string& line) {
  if (!send_line(socket_, line)) return fail(Code::kUnavailable, "the stage has ended");
  return reply();
}

Status LargeCluster::churn(std::int64_t events) {
  const auto done = ask(std::to_string(events));
  return done ? Status{} : tl::unexpected(done.error());
}

Result<std::int64_t> LargeCluster::watches() {
  const auto answer = ask("watches");
  return answer ? text::parse_int(*answer, 64) : tl::unexpected(answer.error());
}

}  // namespace tessera::bench
