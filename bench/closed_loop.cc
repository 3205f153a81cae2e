#include "closed_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "stage.h"

namespace tessera::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// kube-scheduler's back-off.
constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{10};

std::string names_json(const std::vector<std::string>& names) {
  json::Writer w;
  w.begin_array();
  for (const std::string& name : names) w.string(name);
  w.end_array();
  return std::move(w).take();
}

/// "" = bound.
std::string bind_problem(const LoadClient::Answer& answer) {
  json::Parser parser;
  const auto read = parser.parse(answer.body);
  if (answer.status != 200 || !read) return fmt::format("code {}: {}", answer.status, answer.body);
  return std::string((*read)["Error"].string_or(""));
}

class Loop {
 public:
  Loop(const ClosedLoopOptions& options, const std::vector<LivePod>& pods)
      : options_(options),
        pods_(pods),
        names_(names_json(options.names)),
        known_(options.names.begin(), options.names.end()),
        end_(SteadyClock::now() + options.patience) {
    for (std::size_t i = 0; i < pods.size(); ++i) waiting_.push_back({.pod = i});
  }

  Result<ClosedLoopResult> run();

 private:
  struct Waiting {
    std::size_t pod = 0;
    int tries = 0;
    SteadyClock::time_point from{};  ///< not before
  };
  struct Order {
    Waiting what;
    std::string node;
    SteadyClock::time_point filtered{};  ///< when its filter was sent
  };

  Status schedule(LoadClient& client);
  std::optional<Waiting> next();
  Status filter(LoadClient& client, const Waiting& waiting);
  void serve_binds();
  Status bind(LoadClient& client, const Order& order);
  void again(Waiting waiting, std::string problem, std::uint64_t& count);
  void stop(Status status);

  const ClosedLoopOptions& options_;
  const std::vector<LivePod>& pods_;
  const std::string names_;
  const std::set<std::string_view> known_;
  const SteadyClock::time_point end_;

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_, ordered_;
  std::deque<Waiting> waiting_;
  std::deque<Order> orders_;
  std::size_t in_flight_ = 0, bound_ = 0;
  bool stopped_ = false;
  Status failed_;
  ClosedLoopResult result_;
};

Result<ClosedLoopResult> Loop::run() {
  auto client = LoadClient::connect(options_.port);
  if (!client) return tl::unexpected(client.error());
  std::vector<std::thread> binders;
  for (std::size_t i = 0; i < std::min(options_.in_flight, pods_.size()); ++i)
    binders.emplace_back([this] { serve_binds(); });
  const auto begin = SteadyClock::now();
  const Status status = schedule(**client);
  const std::chrono::duration<double> took = SteadyClock::now() - begin;
  stop(status);
  for (std::thread& binder : binders) binder.join();
  if (!failed_) return tl::unexpected(failed_.error());
  result_.seconds = took.count();
  return std::move(result_);
}

/// The scheduling cycles, until every pod is bound.
Status Loop::schedule(LoadClient& client) {
  while (const auto waiting = next())
    if (Status status = filter(client, *waiting); !status) return status;
  const std::lock_guard lock(mutex_);
  if (stopped_ || bound_ == pods_.size()) return {};
  return fail(Code::kUnavailable,
              fmt::format("{} of {} pods are bound after {} ms; the last problem: {}", bound_,
                          pods_.size(), options_.patience.count(), result_.last_problem));
}

/// The first pod whose pause is over, once there is room in flight. Nothing: all are bound, or the
/// time is over and nothing is in flight any more.
std::optional<Loop::Waiting> Loop::next() {
  std::unique_lock lock(mutex_);
  while (!stopped_ && bound_ < pods_.size()) {
    const auto now = SteadyClock::now();
    if (now >= end_ && in_flight_ == 0) break;
    const auto ready = std::find_if(waiting_.begin(), waiting_.end(),
                                    [now](const Waiting& w) { return w.from <= now; });
    if (now < end_ && ready != waiting_.end() && in_flight_ < options_.in_flight) {
      const Waiting taken = *ready;
      waiting_.erase(ready);
      ++in_flight_;
      return taken;
    }
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  return std::nullopt;
}

Status Loop::filter(LoadClient& client, const Waiting& waiting) {
  const std::string request =
      post("/filter", fmt::format(R"({{"Pod":{},"Nodes":null,"NodeNames":{}}})",
                                  pods_[waiting.pod].object, names_));
  const auto sent = SteadyClock::now();
  const auto answer = client.exchange(request);
  if (!answer) return tl::unexpected(answer.error());
  auto node = placed_node(*answer);
  const std::lock_guard lock(mutex_);
  result_.filter.add(answer->time);
  if (!node) {
    again(waiting, node.error().what, result_.refused);
    return {};
  }
  if (!known_.contains(*node))
    return fail(Code::kInternal, fmt::format("filter of pod {} names \"{}\", which was not asked",
                                             pods_[waiting.pod].name, *node));
  orders_.push_back({waiting, std::move(*node), sent});
  ordered_.notify_one();
  return {};
}

void Loop::serve_binds() {
  auto client = LoadClient::connect(options_.port);
  if (!client) return stop(tl::unexpected(client.error()));
  for (;;) {
    std::unique_lock lock(mutex_);
    ordered_.wait(lock, [this] { return stopped_ || !orders_.empty(); });
    if (stopped_) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    if (Status status = bind(**client, order); !status) return stop(std::move(status));
  }
}

Status Loop::bind(LoadClient& client, const Order& order) {
  const LivePod& pod = pods_[order.what.pod];
  const auto answer = client.exchange(
      post("/bind",
           fmt::format(R"({{"PodName":"{}","PodNamespace":"default","PodUID":"{}","Node":"{}"}})",
                       pod.name, pod.uid, order.node)));
  if (!answer) return tl::unexpected(answer.error());
  const auto now = SteadyClock::now();
  std::string problem = bind_problem(*answer);
  const std::lock_guard lock(mutex_);
  if (!problem.empty()) {
    again(order.what, std::move(problem), result_.failed_binds);
    return {};
  }
  result_.bound.add(now - order.filtered);
  result_.nodes.emplace(pod.name, order.node);
  ++bound_;
  --in_flight_;
  changed_.notify_one();
  return {};
}

/// The mutex is held.
void Loop::again(Waiting waiting, std::string problem, std::uint64_t& count) {
  ++count;
  result_.last_problem = std::move(problem);
  const auto pause = std::min<SteadyClock::duration>(
      kFirstPause * (1 << std::min(waiting.tries, 4)), kLongestPause);
  ++waiting.tries;
  waiting.from = SteadyClock::now() + pause;
  waiting_.push_back(waiting);
  --in_flight_;
  changed_.notify_one();
}

/// The first reason counts.
void Loop::stop(Status status) {
  const std::lock_guard lock(mutex_);
  if (failed_ && !status) failed_ = std::move(status);
  stopped_ = true;
  changed_.notify_all();
  ordered_.notify_all();
}

}  // namespace

Result<ClosedLoopResult> run_closed_loop(const ClosedLoopOptions& options,
                                         const std::vector<LivePod>& pods) {
  return Loop(options, pods).run();
}

}  // namespace tessera::bench
