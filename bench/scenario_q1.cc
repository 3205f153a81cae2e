// The pods of a real cluster, replayed through the core alone: how many cards each policy leaves
// unallocated once the load equals the capacity, against HAMi's default policies on the same
// arrivals, and how many decisions a second that is.
//   scenarios Q1 [--pods=FILE.csv] [--nodes=FILE.csv] [--seeds=3] [--slots=10] [--check-every=50]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "openb_replay.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::int64_t kFirstSeed = 42;
constexpr std::string_view kAllocated = "allocated_percent", kUnallocated = "unallocated_cards",
                           kUnallocated130 = "unallocated_at_130",
                           kFewer = "fewer_than_hami_percent", kDeviation = "deviation_percent",
                           kFragmentRate = "fragment_rate_percent",
                           kFragmentRatio = "fragment_ratio_percent";

struct Options {
  std::string pods, nodes;
  std::int64_t seeds = 3, slots = 10, check_every = 50;
};

struct PolicyPair {
  const char *what, *node, *device;
  bool hami;
};
/// The first is what all others are compared with; the second our default.
constexpr PolicyPair kPairs[] = {
    {"HAMi's mode, binpack/spread (its default)", "binpack", "spread", true},
    {"binpack/spread (our default)", "binpack", "spread", false},
    {"binpack/binpack", "binpack", "binpack", false},
    {"spread/binpack", "spread", "binpack", false},
    {"spread/spread", "spread", "spread", false}};

struct Summary {
  double allocated = 0, deviation = 0, unallocated = 0, unallocated_130 = 0;
  double rate = 0, ratio = 0, per_second = 0;
  std::uint64_t decisions = 0, compared = 0;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Summary summary_of(const std::vector<ReplayFigures>& runs, double cards) {
  Summary s;
  std::vector<double> allocated, rates;
  for (const ReplayFigures& run : runs) {
    allocated.push_back(run.allocated_100);
    rates.push_back(static_cast<double>(run.decisions) / run.spent.count());
    s.unallocated_130 += (100 - run.allocated_130) / 100 * cards;
    s.rate += run.fragment_rate;
    s.ratio += run.fragment_ratio;
    s.decisions += run.decisions;
    s.compared += run.compared;
  }
  const auto count = static_cast<double>(runs.size());
  s.allocated = mean(allocated);
  for (const double one : allocated) s.deviation += (one - s.allocated) * (one - s.allocated);
  s.deviation = std::sqrt(s.deviation / std::max(1.0, count - 1));
  s.unallocated = (100 - s.allocated) / 100 * cards;
  s.unallocated_130 /= count;
  s.rate /= count;
  s.ratio /= count;
  std::sort(rates.begin(), rates.end());
  s.per_second = rates[rates.size() / 2];
  return s;
}

Result<Summary> replay(const PolicyPair& pair, const Options& options,
                       const std::vector<sim::TracePod>& list,
                       const std::vector<Machine>& machines) {
  const TargetWorkload workload = TargetWorkload::of(list);
  std::vector<ReplayFigures> runs;
  for (std::int64_t seed = kFirstSeed; seed < kFirstSeed + options.seeds; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const auto pods = arrivals(list, card_capacity(machines), random);
    std::vector<Machine> ranked = machines;
    std::shuffle(ranked.begin(), ranked.end(), random);
    Replay one({.node_policy = pair.node,
                .device_policy = pair.device,
                .hami = pair.hami,
                .slots = options.slots,
                .check_every = options.check_every},
               ranked, workload);
    auto figures = one.run(pods);
    if (!figures)
      return fail(Code::kInternal,
                  fmt::format("{}, seed {}: {}", pair.what, seed, figures.error().what));
    runs.push_back(*figures);
  }
  return summary_of(runs, static_cast<double>(card_capacity(machines)) / kWholeCard);
}

Row row_of(const PolicyPair& pair, const Summary& s, double hami_unallocated) {
  Row row(pair.what);
  row.add(kAllocated, s.allocated).add(kDeviation, s.deviation);
  row.add(kUnallocated, s.unallocated).add(kUnallocated130, s.unallocated_130);
  if (!pair.hami) row.add(kFewer, 100 * (1 - s.unallocated / hami_unallocated));
  row.add(kFragmentRate, s.rate).add(kFragmentRatio, s.ratio).add(kRate, s.per_second);
  row.checked(static_cast<std::int64_t>(s.decisions),
              fmt::format("fits the bench's own books; {} are the plain decision's", s.compared));
  return row;
}

Status read_options(const ScenarioOptions& given, Options& options) {
  if (given.quick) options.seeds = 1;
  if (Status status = refuse_compare(given); !status) return status;
  return read_more(given,
                   {{"seeds", &options.seeds, 1},
                    {"slots", &options.slots, 1},
                    {"check-every", &options.check_every}},
                   {{"pods", &options.pods}, {"nodes", &options.nodes}});
}

}  // namespace

Result<Report> run_q1(const ScenarioOptions& given) {
  Options options;
  if (Status status = read_options(given, options); !status) return tl::unexpected(status.error());
  const auto list = read_pods(options.pods);
  if (!list) return tl::unexpected(list.error());
  auto machines = read_machines(options.nodes);
  if (!machines) return tl::unexpected(machines.error());
  Report report{
      .scenario = "Q1",
      .setting = fmt::format(
          "{} pods ({}), {} machines, {} cards of {} slots, {} seeds, one pod at a time, load 100 "
          "% "
          "of the cards unless said; node policy/device policy",
          list->size(),
          options.pods.empty() ? "the cut that is built in: the whole list gives other figures"
                               : options.pods.substr(options.pods.rfind('/') + 1),
          machines->size(), card_capacity(*machines) / kWholeCard, options.slots, options.seeds),
      .rows = {}};
  std::vector<std::pair<const PolicyPair*, Summary>> all;
  for (const PolicyPair& pair : kPairs) {
    const auto summary = replay(pair, options, *list, *machines);
    if (!summary) return tl::unexpected(summary.error());
    all.emplace_back(&pair, *summary);
  }
  const auto best = std::min_element(all.begin() + 1, all.end(), [](const auto& a, const auto& b) {
    return a.second.unallocated < b.second.unallocated;
  });
  for (auto it = all.begin(); it != all.end(); ++it) {
    Row row = row_of(*it->first, it->second, all.front().second.unallocated);
    if (!given.quick && !it->first->hami) row.must_reach(kRate, 20'000, 100'000);
    if (!given.quick && it == best) row.must_reach(kFewer, 40, 55);
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace tessera::bench
