// The stand-in for kube-scheduler in random histories.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "history_world.h"
#include "json/reader.h"
#include "json/writer.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;

constexpr int kMostTries = 6, kMostRefusals = 3;
constexpr std::size_t kLargestBurst = 4;
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
                       Record& record, int threads, bool scored)
    : server_(server), api_(api), nodes_(std::move(nodes)), record_(record), scored_(scored) {
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

std::vector<Schedulers::Task> Schedulers::next_tasks() {
  const std::lock_guard guard(mutex_);
  const std::size_t most = scored_ ? 1 + random_() % kLargestBurst : 1;
  std::vector<Task> tasks;
  while (tasks.size() < most && !queue_.empty()) {
    tasks.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (!tasks.empty()) ++working_;
  return tasks;
}

void Schedulers::work() {
  while (true) {
    {
      const std::lock_guard guard(mutex_);
      if (stopping_) return;
    }
    std::vector<Task> tasks = next_tasks();
    if (tasks.empty()) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    std::vector<std::pair<Task, std::string>> chosen;
    for (Task& task : tasks) {
      const std::string node = schedule(task);
      if (!node.empty()) chosen.emplace_back(std::move(task), node);
    }
    for (auto& [task, node] : chosen) bind(std::move(task), node);
    const std::lock_guard guard(mutex_);
    --working_;
  }
}

std::string Schedulers::schedule(Task& task) {
  std::vector<std::string> fitting;
  const bool answered = filter(task.pod, fitting);
  if (answered && !fitting.empty()) return pick(fitting);
  later(std::move(task), answered);
  return {};
}

void Schedulers::later(Task task, bool answered) {
  if (++task.tries >= (answered ? kMostRefusals : kMostTries)) return;
  std::this_thread::sleep_for(kPause * task.tries);
  const std::lock_guard guard(mutex_);
  queue_.push_back(std::move(task));
}

std::string Schedulers::pick(const std::vector<std::string>& nodes) {
  const std::lock_guard guard(mutex_);
  return nodes[random_() % nodes.size()];
}

bool Schedulers::filter(const HistoryPod& pod, std::vector<std::string>& fitting) {
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
  (*body)["NodeNames"].for_each_element(
      [&](json::Value name) { fitting.emplace_back(name.string_or("")); });
  // A pod whose Binding is under way or done is answered with its node alone.
  const bool known = fitting.size() == 1 && (*body)["FailedNodes"].is_null_or_missing();
  if (fitting.empty() || (scored_ && !known)) check_reasons(pod, fitting, response.body);
  if (scored_ && fitting.size() > 1) check_scores(pod, object.body, fitting);
  return true;
}

/// Invariant 6: a reason for every candidate that is not answered.
void Schedulers::check_reasons(const HistoryPod& pod, const std::vector<std::string>& fitting,
                               const std::string& body) {
  json::Parser parser;
  const auto value = parser.parse(body);
  if (!value) return;
  for (const std::string& node : nodes_) {
    const bool told = !(*value)["FailedNodes"][node].string_or("").empty() ||
                      !(*value)["FailedAndUnresolvableNodes"][node].string_or("").empty();
    const bool fits = std::find(fitting.begin(), fitting.end(), node) != fitting.end();
    if (told == fits)
      record_.problem(fmt::format("pod {}: node {} must be answered or refused with a reason: {}",
                                  pod.name, node, body));
  }
}

/// Either no scores at all, or one from 0 to 10 for each.
void Schedulers::check_scores(const HistoryPod& pod, const std::string& object,
                              const std::vector<std::string>& fitting) {
  const client::ApiResponse response = server_.post("/prioritize", filter_body(object, fitting));
  if (!response.ok() || response.body == "[]") return;  // a restart, or no leader yet
  record_.count("prioritize");
  json::Parser parser;
  const auto list = parser.parse(response.body);
  std::vector<std::string> hosts;
  std::int64_t most = 0;
  bool sound = list.has_value();
  if (list) {
    list->for_each_element([&](json::Value entry) {
      hosts.emplace_back(entry["Host"].string_or(""));
      const std::int64_t score = entry["Score"].integer().value_or(-1);
      sound = sound && score >= 0 && score <= 10;
      most = std::max(most, score);
    });
  }
  if (!sound || hosts != fitting || (most != 10 && most != 0))
    record_.problem(
        fmt::format("pod {}: scores of {}: {}", pod.name, text::join(fitting, ","), response.body));
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
  } else {
    record_.count("bind refused");
    if (++task.tries < kMostTries) queue_.push_back(std::move(task));
  }
}

}  // namespace tessera::test
