#include "filter_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "process_figures.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kEach = 16;  // calls of which one leaves a node out
constexpr std::chrono::milliseconds kSettled[] = {50ms, 500ms, 5000ms, 20'000ms};

/// The calls of one lane.
class LaneRun {
 public:
  LaneRun(const FilterLane& lane, const FilterLoad& load)
      : lane_(lane), load_(load), sampling_(lane.stage->nodes()) {
    figures.all_that_fit = load.all_that_fit;
  }

  Status call(std::int64_t serial) {
    if (serial == load_.warm_up && lane_.process != 0)
      processor_before_ = processor_time(lane_.process);
    CallNodes nodes = load_.sampled ? sampling_.next() : lane_.stage->all_nodes();
    if (load_.leave_out && serial % kEach == kEach - 1) nodes.left_out = last_node_;
    const auto found = exchange(serial, nodes, load_.pause);
    if (!found) return tl::unexpected(found.error());
    if (serial >= load_.warm_up) {
      figures.times.add(found->time);
      figures.heap_requests += found->heap_requests;
      if (found->verdict.node >= 0) figures.load_sum += lane_.judge->load_of(found->verdict.node);
    }
    last_node_ = found->verdict.node;
    return {};
  }

  /// Between two timed calls: with the cluster at rest, exactly the plain decision.
  Status look(std::int64_t serial) {
    std::string different;
    for (const auto wait : kSettled) {
      const CallNodes nodes = load_.sampled ? sampling_.next() : lane_.stage->all_nodes();
      std::this_thread::sleep_for(wait);  // the pod before it is gone for everybody
      const auto found = exchange(serial, nodes, load_.pause);
      if (!found) return tl::unexpected(found.error());
      const auto difference = lane_.judge->difference(found->call, found->verdict);
      if (!difference) return tl::unexpected(difference.error());
      ++figures.exact;
      if (difference->empty()) return {};
      different = *difference;
    }
    return fail(Code::kInternal, "WRONG ANSWER: " + different);
  }

  Status bind(std::int64_t serial) {
    const auto call = come(serial, lane_.stage->all_nodes());
    if (!call) return tl::unexpected(call.error());
    std::this_thread::sleep_for(load_.pause);
    const auto answer = lane_.client->exchange(post(lane_.path, call->body));
    if (!answer) return tl::unexpected(answer.error());
    const auto verdict = read_verdict(*lane_.stage, *answer);
    if (!verdict) return tl::unexpected(verdict.error());
    if (verdict->named == 1) {
      if (auto status =
              check_bound(*lane_.stage, *lane_.client, *call, verdict->node, load_.share(serial));
          !status)
        return status;
    }
    return lane_.stage->go(*call);
  }

  void finish() {
    if (lane_.process != 0) figures.processor = processor_time(lane_.process) - processor_before_;
  }

  FilterFigures figures;

 private:
  struct Found {
    FilterStage::Call call;
    FilterVerdict verdict;
    Nanoseconds time{0};
    std::uint64_t heap_requests = 0;
  };

  Result<FilterStage::Call> come(std::int64_t serial, const CallNodes& nodes) {
    return lane_.stage->come(load_.pod(lane_.stage->next_name(), serial), nodes);
  }

  Result<Found> exchange(std::int64_t serial, const CallNodes& nodes,
                         std::chrono::microseconds pause) {
    auto call = come(serial, nodes);
    if (!call) return tl::unexpected(call.error());
    const std::string request = post(lane_.path, call->body);
    std::this_thread::sleep_for(pause);
    const std::uint64_t heap_before = lane_.heap != nullptr ? lane_.heap->count() : 0;
    const auto answer = lane_.client->exchange(request);
    const std::uint64_t heap_after = lane_.heap != nullptr ? lane_.heap->count() : 0;
    if (!answer) return tl::unexpected(answer.error());
    if (auto gone = lane_.stage->go(*call); !gone) return tl::unexpected(gone.error());
    auto verdict = read_verdict(*lane_.stage, *answer);
    if (!verdict) return tl::unexpected(verdict.error());
    const auto share = load_.share(serial);
    const Status sound = load_.all_that_fit
                             ? lane_.judge->look_all(*call, *verdict, share, lane_.exact)
                             : lane_.judge->look(*call, *verdict, share);
    if (!sound) return tl::unexpected(sound.error());
    ++figures.answers;
    figures.body = call->body;
    figures.answer_size = answer->body.size();
    return Found{std::move(*call), std::move(*verdict), answer->time, heap_after - heap_before};
  }

  const FilterLane& lane_;
  const FilterLoad& load_;
  Sampling sampling_;
  std::int64_t last_node_ = -1;
  std::chrono::nanoseconds processor_before_{0};
};

/// Who begins changes with every call.
Status take_turns(std::vector<LaneRun>& runs, std::int64_t calls) {
  for (std::int64_t i = 0; i < calls; ++i) {
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const std::size_t turn = i % 2 == 0 ? k : runs.size() - 1 - k;
      if (auto status = runs[turn].call(i); !status) return status;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<FilterFigures>> run_filters(std::span<const FilterLane> lanes,
                                               const FilterLoad& load) {
  std::vector<LaneRun> runs;
  runs.reserve(lanes.size());
  for (const FilterLane& lane : lanes) runs.emplace_back(lane, load);
  const std::int64_t all = load.warm_up + load.calls;
  if (load.beside) load.beside(*lanes.front().stage);
  const Status called = take_turns(runs, all);
  for (LaneRun& run : runs) run.finish();
  const Status ended = load.end_beside ? load.end_beside() : Status();
  if (!called) return tl::unexpected(called.error());
  if (!ended) return tl::unexpected(ended.error());
  for (std::size_t k = 0; k < runs.size(); ++k) {
    for (std::int64_t i = 0; lanes[k].exact && i < load.looks; ++i)
      if (auto status = runs[k].look(all + i); !status) return tl::unexpected(status.error());
    if (!lanes[k].exact || !load.bind_last) continue;
    if (auto status = runs[k].bind(all + load.looks); !status)
      return tl::unexpected(status.error());
  }
  std::vector<FilterFigures> figures;
  for (LaneRun& run : runs) figures.push_back(std::move(run.figures));
  return figures;
}

FilterLoad plain_load(const sim::SyntheticOptions& cluster, sim::SyntheticShare share) {
  // The cluster without its nodes: it makes pods only.
  sim::SyntheticOptions alone = cluster;
  alone.nodes = 1;
  alone.device_pods = alone.plain_pods = 0;
  const auto maker =
      std::make_shared<Result<sim::SyntheticCluster>>(sim::SyntheticCluster::make(alone));
  FilterLoad load;
  load.pod = [maker, share](std::string name, std::int64_t) {
    return (*maker)->asking_pod(std::move(name), share);
  };
  load.share = [share](std::int64_t) { return share; };
  return load;
}

}  // namespace tessera::bench
