// The stand-in for kube-scheduler in random histories.
#include <fmt/format.h>

#include "history_world.h"
#include "json/reader.h"
#include "json/writer.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;

constexpr int kMostTries = 6, kMostRefusals = 3;
constexpr milliseconds kPause{5};

std::string filter_body(const std::string& pod, const std::vector<std::string>& nodes) {
  json::Writer w;
  w.begin_object().key("Pod").raw(pod).key("Nodes").null().key("NodeNames").begin_array();
  for (const std::string& node : nodes) w.string(node);
  w.end_array().end_object();
  return std::move(w).take();
}

std::string bind_body(const HistoryPod& pod, const std::string& node) {
  json::Writer w;
  w.begin_object().key("PodName").string(pod.name).key("PodNamespace").string(pod.ns);
  w.key("PodUID").string(pod.uid).key("Node").string(node).end_object();
  return std::move(w).take();
}

}  // namespace

Schedulers::Schedulers(ServerSlot& server, sim::ApiServer& api, std::vector<std::string> nodes,
                       Record& record, int threads)
    : server_(server), api_(api), nodes_(std::move(nodes)), record_(record) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Schedulers::~Schedulers() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void Schedulers::add(HistoryPod pod) {
  const std::lock_guard guard(mutex_);
  queue_.push_back({std::move(pod), 0});
}

bool Schedulers::idle(milliseconds limit) {
  return comes_true(
      [this] {
        const std::lock_guard guard(mutex_);
        return queue_.empty() && working_ == 0;
      },
      limit);
}

void Schedulers::work() {
  while (true) {
    Task task;
    {
      const std::lock_guard guard(mutex_);
      if (stopping_) return;
      if (!queue_.empty()) {
        task = std::move(queue_.front());
        queue_.pop_front();
        ++working_;
      }
    }
    if (task.pod.uid.empty()) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    schedule(std::move(task));
    const std::lock_guard guard(mutex_);
    --working_;
  }
}

void Schedulers::schedule(Task task) {
  std::string node;
  const bool answered = filter(task.pod, node);
  if (answered && !node.empty()) return bind(std::move(task), node);
  if (++task.tries >= (answered ? kMostRefusals : kMostTries)) return;
  std::this_thread::sleep_for(kPause * task.tries);
  const std::lock_guard guard(mutex_);
  queue_.push_back(std::move(task));
}

bool Schedulers::filter(const HistoryPod& pod, std::string& node) {
  const auto object =
      api_.request("GET", fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name));
  if (object.status != 200) return false;  // deleted meanwhile
  record_.count("filter");
  const client::ApiResponse response = server_.post("/filter", filter_body(object.body, nodes_));
  if (!response.ok()) return false;  // a restart
  json::Parser parser;
  const auto body = parser.parse(response.body);
  if (!body) {
    record_.problem("filter answers no JSON: " + response.body);
    return false;
  }
  if (!(*body)["Error"].string_or("").empty()) return false;
  (*body)["NodeNames"].for_each_element([&](json::Value name) { node = name.string_or(""); });
  if (node.empty()) check_refusal(pod, response.body);
  return true;
}

/// Invariant 6: a reason for every candidate.
void Schedulers::check_refusal(const HistoryPod& pod, const std::string& body) {
  json::Parser parser;
  const auto value = parser.parse(body);
  if (!value) return;
  for (const std::string& node : nodes_) {
    const bool told = !(*value)["FailedNodes"][node].string_or("").empty() ||
                      !(*value)["FailedAndUnresolvableNodes"][node].string_or("").empty();
    if (!told)
      record_.problem(
          fmt::format("pod {} is refused without a reason for {}: {}", pod.name, node, body));
  }
}

void Schedulers::bind(Task task, const std::string& node) {
  record_.count("bind");
  const client::ApiResponse response = server_.post("/bind", bind_body(task.pod, node));
  json::Parser parser;
  const auto body = parser.parse(response.body);
  const bool bound = response.ok() && body && (*body)["Error"].string_or("").empty();
  if (bound) {
    const auto object = api_.request(
        "GET", fmt::format("/api/v1/namespaces/{}/pods/{}", task.pod.ns, task.pod.name));
    record_.bound(object.body);
  }
  const std::lock_guard guard(mutex_);
  if (bound) {
    const auto [before, fresh] = bound_.emplace(task.pod.uid, node);
    if (!fresh && before->second != node)
      record_.problem(
          fmt::format("pod {} is bound twice: {} and {}", task.pod.name, before->second, node));
  } else if (++task.tries < kMostTries) {
    queue_.push_back(std::move(task));
  }
}

}  // namespace tessera::test
