// Q1: the openb pod list replayed over a cluster of its shape, decisions in the core only. Pods
// come one at a time in a shuffled order, nothing leaves, a pod that fits nowhere is dropped; the
// list is lengthened by drawing from itself until it asks for 1.3 times what the cluster has.
// kube-scheduler is played by two rules: a node without enough CPU or memory is no candidate, and a
// pod without devices goes where most CPU is free. Printed: how much of the cards is given away
// when the load equals the capacity and at the end, decisions per second, and how many answers were
// compared with the plain decision.
//   openb_bench [--pods=FILE.csv] [--seeds=3] [--node-policy=binpack] [--device-policy=binpack]
//               [--check-every=50]
// Without --pods the list built into the program is used (500 rows).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "core/candidates.h"
#include "core/place_index.h"
#include "policies/registry.h"
#include "sim/trace.h"

namespace tessera::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::int64_t kWholeCard = 1000;
constexpr double kTuning = 1.3;

struct Options {
  std::string pods, node_policy = "binpack", device_policy = "binpack";
  std::int64_t seeds = 3, check_every = 50;
};

/// The machines of the trace: how many, CPU in thousandths, memory in MiB, cards, model.
struct Shape {
  std::uint32_t count;
  std::int64_t cpu_milli, memory_mib;
  std::uint32_t cards;
  std::string_view model;
};
constexpr std::array<Shape, 15> kShapes = {{{549, 96'000, 393'216, 8, "G2"},
                                            {387, 104'000, 524'288, 2, "T4"},
                                            {107, 16'000, 122'880, 2, "P100"},
                                            {39, 128'000, 786'432, 8, "G3"},
                                            {28, 32'000, 131'072, 4, "V100M16"},
                                            {22, 64'000, 262'144, 2, "P100"},
                                            {21, 96'000, 786'432, 8, "V100M32"},
                                            {19, 8'000, 32'768, 1, "V100M16"},
                                            {17, 96'000, 393'216, 4, "T4"},
                                            {9, 48'000, 376'832, 4, "V100M32"},
                                            {7, 64'000, 262'144, 8, "V100M16"},
                                            {3, 8'000, 61'440, 1, "P100"},
                                            {2, 8'000, 61'440, 2, "P100"},
                                            {2, 128'000, 1'048'576, 1, "A10"},
                                            {1, 82'000, 344'064, 8, "V100M16"}}};

struct Machine {
  std::int64_t cpu_milli = 0, memory_mib = 0;  ///< free
};

struct World {
  World() : cluster(core::VendorTable(1)) {
    for (const Shape& shape : kShapes) {
      for (std::uint32_t i = 0; i < shape.count; ++i) add(shape);
    }
  }
  void add(const Shape& shape) {
    core::NodeSpec spec;
    spec.name = fmt::format("node-{:05}", machines.size());
    spec.offered = {true};
    for (std::uint32_t c = 0; c < shape.cards; ++c) {
      core::Device card;
      card.id = fmt::format("{}-card-{}", spec.name, c);
      card.index = c;
      card.vendor = {0};
      card.healthy = true;
      card.slots = 100;
      card.memory = {kWholeCard};
      card.cores = {100};
      card.model = shape.model;
      spec.devices.push_back(std::move(card));
    }
    capacity += static_cast<std::int64_t>(shape.cards) * kWholeCard;
    cluster.set_node(std::move(spec));
    machines.push_back({shape.cpu_milli, shape.memory_mib});
  }
  core::Cluster cluster;
  std::vector<Machine> machines;  // by node id
  std::int64_t capacity = 0;
};

core::Request request_of(const sim::TracePod& pod, const Options& options, std::uint64_t serial) {
  core::Request request;
  request.uid = {fmt::format("pod-{}", serial)};
  const std::int64_t share = pod.cards == 1 ? pod.card_milli : kWholeCard;
  request.positions.push_back(
      {core::PositionKind::kApp, {{{0}, pod.cards, {share}, core::DeviceAsk::kNoPercent, {0}}}});
  request.node_policy = policies::find_node_policy(options.node_policy);
  request.device_policies = *policies::parse_device_chain(options.device_policy);
  if (!pod.models.empty()) {
    core::Constraints constraints{.vendor = {0}};
    for (const std::string_view model : text::split(pod.models, '|'))
      constraints.use_models.emplace_back(model);
    request.constraints.push_back(std::move(constraints));
  }
  return request;
}

std::int64_t share_of(const sim::TracePod& pod) {
  return pod.cards == 1 ? pod.card_milli : pod.cards * kWholeCard;
}

std::vector<sim::TracePod> lengthened(std::vector<sim::TracePod> list, std::int64_t capacity,
                                      std::mt19937_64& random) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::shuffle(list.begin(), list.end(), random);
  const std::size_t original = list.size();
  double asked = 0;
  for (const sim::TracePod& pod : list) asked += static_cast<double>(share_of(pod));
  while (true) {
    const sim::TracePod& drawn = list[random() % original];
    asked += static_cast<double>(share_of(drawn));
    if (asked > kTuning * static_cast<double>(capacity)) return list;
    list.push_back(sim::TracePod(drawn));
  }
}

struct Figures {
  double at_capacity = 0, at_end = 0;  ///< share of the cards given away, percent
  double decisions_per_second = 0;
  std::uint64_t decisions = 0, checked = 0, different = 0;
};

class Replay {
 public:
  explicit Replay(const Options& options) : options_(options) {}

  Figures run(const std::vector<sim::TracePod>& list, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::int64_t arrived = 0;
    Figures result;
    for (const sim::TracePod& pod : lengthened(list, world_.capacity, random)) {
      arrived += share_of(pod);
      pod.cards == 0 ? place_plain_pod(pod) : place_device_pod(pod, result);
      const double load = static_cast<double>(arrived) / static_cast<double>(world_.capacity);
      if (load <= 1.0) result.at_capacity = given_percent();
    }
    result.at_end = given_percent();
    result.decisions_per_second =
        static_cast<double>(result.decisions) / std::chrono::duration<double>(spent_).count();
    return result;
  }

 private:
  double given_percent() const {
    return 100.0 * static_cast<double>(given_) / static_cast<double>(world_.capacity);
  }

  bool has_room(const Machine& machine, const sim::TracePod& pod) const {
    return machine.cpu_milli >= pod.cpu_milli && machine.memory_mib >= pod.memory_mib;
  }

  void charge(std::size_t node, const sim::TracePod& pod) {
    world_.machines[node].cpu_milli -= pod.cpu_milli;
    world_.machines[node].memory_mib -= pod.memory_mib;
  }

  void place_plain_pod(const sim::TracePod& pod) {
    std::size_t best = world_.machines.size();
    for (std::size_t i = 0; i < world_.machines.size(); ++i) {
      if (!has_room(world_.machines[i], pod)) continue;
      if (best == world_.machines.size() ||
          world_.machines[i].cpu_milli > world_.machines[best].cpu_milli)
        best = i;
    }
    if (best < world_.machines.size()) charge(best, pod);
  }

  void place_device_pod(const sim::TracePod& pod, Figures& result) {
    candidates_.open(world_.cluster);
    for (std::uint32_t i = 0; i < world_.machines.size(); ++i) {
      if (has_room(world_.machines[i], pod)) candidates_.add(NodeId{i});
    }
    const core::Request request = request_of(pod, options_, ++serial_);
    const auto begin = Steady::now();
    auto choice = index_.choose(world_.cluster, request, candidates_);
    spent_ += Steady::now() - begin;
    ++result.decisions;
    if (options_.check_every > 0 &&
        result.decisions % static_cast<std::uint64_t>(options_.check_every) == 0) {
      check(request, choice, result);
    }
    if (!choice.decision) return;
    const auto reserve_begin = Steady::now();
    const bool held =
        world_.cluster.reserve(request.uid, std::move(choice.decision->allocation), MonoTime::max())
            .has_value();
    spent_ += Steady::now() - reserve_begin;
    if (!held) return void(++result.different);
    given_ += share_of(pod);
    charge(choice.decision->node.v, pod);
  }

  void check(const core::Request& request, const core::PlaceIndex::Choice& choice,
             Figures& result) const {
    const core::Outcome plain = core::place(world_.cluster, request, candidates_.ids());
    ++result.checked;
    const bool same =
        plain.decision.has_value() == choice.decision.has_value() &&
        (!plain.decision || plain.decision->allocation == choice.decision->allocation);
    result.different += same ? 0 : 1;
  }

  const Options& options_;
  World world_;
  core::PlaceIndex index_{{.classes = 1024}};
  core::CandidateSet candidates_;
  std::uint64_t serial_ = 0;
  std::int64_t given_ = 0;
  Steady::duration spent_{};
};

Status set_option(Options& options, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
  if (name == "--pods") return options.pods = value, Status{};
  if (name == "--node-policy") return options.node_policy = value, Status{};
  if (name == "--device-policy") return options.device_policy = value, Status{};
  std::int64_t* number = nullptr;
  if (name == "--seeds") number = &options.seeds;
  if (name == "--check-every") number = &options.check_every;
  if (number == nullptr) return fail(Code::kInvalid, fmt::format("unknown option {}", name));
  const auto read = text::parse_int(value, 64);
  if (!read) return fail(Code::kInvalid, fmt::format("{}: {}", name, read.error().what));
  *number = *read;
  return {};
}

Status check_options(const Options& options) {
  if (policies::find_node_policy(options.node_policy) == nullptr)
    return fail(Code::kInvalid, fmt::format("--node-policy: unknown {}", options.node_policy));
  if (auto chain = policies::parse_device_chain(options.device_policy); !chain)
    return tl::unexpected(chain.error());
  return {};
}

Result<std::vector<sim::TracePod>> read_list(const Options& options) {
  if (options.pods.empty()) return sim::parse_trace(sim::builtin_trace(), "built-in list");
  std::ifstream file(options.pods);
  if (!file) return fail(Code::kInvalid, fmt::format("--pods: cannot read {}", options.pods));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return sim::parse_trace(text, options.pods);
}

int run(const Options& options) {
  const auto list = read_list(options);
  if (!list) return fmt::print(stderr, "{}\n", list.error().what), 1;
  fmt::print("{} pods in the list, node policy {}, device policy {}\n", list->size(),
             options.node_policy, options.device_policy);
  std::vector<double> rates;
  std::uint64_t different = 0;
  for (std::int64_t seed = 42; seed < 42 + options.seeds; ++seed) {
    const Figures r = Replay(options).run(*list, static_cast<std::uint64_t>(seed));
    fmt::print(
        "seed {}: {:.2f} % given away at load 1.0, {:.2f} % at 1.3; {} decisions, {:.0f}/s; "
        "{} compared with the plain decision, {} different\n",
        seed, r.at_capacity, r.at_end, r.decisions, r.decisions_per_second, r.checked, r.different);
    rates.push_back(r.decisions_per_second);
    different += r.different;
  }
  std::sort(rates.begin(), rates.end());
  if (!rates.empty()) fmt::print("median {:.0f} decisions/s\n", rates[rates.size() / 2]);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int count, char** words) {
  tessera::bench::Options options;
  for (int i = 1; i < count; ++i) {
    if (auto status = tessera::bench::set_option(options, words[i]); !status) {
      fmt::print(stderr, "{}\n", status.error().what);
      return 2;
    }
  }
  if (auto status = tessera::bench::check_options(options); !status) {
    fmt::print(stderr, "{}\n", status.error().what);
    return 2;
  }
  return tessera::bench::run(options);
}
