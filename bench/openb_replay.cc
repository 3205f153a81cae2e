#include "openb_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.h"
#include "core/place.h"
#include "policies/registry.h"

namespace tessera::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string node_name(std::size_t node) { return fmt::format("node-{:05}", node); }

core::NodeSpec spec_of(std::size_t node, const Machine& machine, std::int64_t slots) {
  core::NodeSpec spec;
  spec.name = node_name(node);
  spec.offered = {true};
  for (std::uint32_t c = 0; c < machine.cards; ++c) {
    core::Device card;
    card.id = fmt::format("{}/{}", spec.name, c);
    card.index = c;
    card.vendor = {0};
    card.healthy = true;
    card.slots = static_cast<decltype(card.slots)>(slots);
    card.memory = {kWholeCard};
    card.cores = {100};
    card.model = machine.model;
    spec.devices.push_back(std::move(card));
  }
  return spec;
}

std::int64_t share_of_card(const sim::TracePod& pod) {
  return pod.cards == 1 ? pod.card_milli : kWholeCard;
}

/// What kube-scheduler's default plugins say of a machine: least allocated, and evenly, 0 to 100
/// each.
std::int64_t default_score(const Machine& machine, std::int64_t free_cpu,
                           std::int64_t free_memory) {
  const std::int64_t cpu = 100 * free_cpu / machine.cpu_milli;
  const std::int64_t memory = 100 * free_memory / machine.memory_mib;
  return (cpu + memory) / 2 + 100 - std::abs(cpu - memory) / 2;
}

}  // namespace

Replay::Replay(const ReplayOptions& options, const std::vector<Machine>& machines,
               const TargetWorkload& workload)
    : options_(options),
      machines_(machines),
      workload_(workload),
      cluster_(core::VendorTable(1)),
      capacity_(card_capacity(machines)) {
  for (std::size_t n = 0; n < machines.size(); ++n) {
    const Machine& machine = machines[n];
    cluster_.set_node(spec_of(n, machine, options.slots));
    nodes_.push_back({.model = machine.model,
                      .free_cpu = machine.cpu_milli,
                      .free_cards = std::vector<std::int64_t>(machine.cards, kWholeCard)});
    free_memory_.push_back(machine.memory_mib);
    fragments_.push_back(workload.fragment(nodes_.back()));
    fragment_ += fragments_.back();
  }
}

Result<ReplayFigures> Replay::run(const std::vector<sim::TracePod>& pods) {
  std::int64_t arrived = 0;
  for (const sim::TracePod& pod : pods) {
    arrived += asked_share(pod);
    const Status status = pod.cards == 0 ? place_plain_pod(pod) : place_device_pod(pod);
    if (!status) return tl::unexpected(status.error());
    record(arrived);
  }
  if (full_.count == 0 || end_.count == 0)
    return fail(Code::kInvalid, "the pods do not ask for 1.3 times the cards");
  figures_.allocated_100 = full_.sum / full_.count;
  figures_.allocated_130 = end_.sum / end_.count;
  figures_.fragment_rate = full_.rate / full_.count;
  figures_.fragment_ratio = full_.ratio / full_.count;
  return figures_;
}

/// Into the bin of the arrived share, which is rounded to a percent.
void Replay::record(std::int64_t arrived) {
  const auto percent =
      std::lround(100.0 * static_cast<double>(arrived) / static_cast<double>(capacity_));
  if (percent != 100 && percent != 130) return;
  Bin& bin = percent == 100 ? full_ : end_;
  const auto capacity = static_cast<double>(capacity_);
  const double idle = capacity - static_cast<double>(given_);
  bin.count += 1;
  bin.sum += 100 * static_cast<double>(given_) / capacity;
  bin.rate += 100 * fragment_ / capacity;
  bin.ratio += idle > 0 ? 100 * fragment_ / idle : 0;
}

bool Replay::has_room(std::size_t node, const sim::TracePod& pod) const {
  return nodes_[node].free_cpu >= pod.cpu_milli && free_memory_[node] >= pod.memory_mib;
}

void Replay::charge(std::size_t node, const sim::TracePod& pod) {
  nodes_[node].free_cpu -= pod.cpu_milli;
  free_memory_[node] -= pod.memory_mib;
  const double now = workload_.fragment(nodes_[node]);
  fragment_ += now - std::exchange(fragments_[node], now);
}

Status Replay::place_plain_pod(const sim::TracePod& pod) {
  std::size_t best = nodes_.size();
  std::int64_t best_score = -1;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!has_room(n, pod)) continue;
    const std::int64_t score = default_score(machines_[n], nodes_[n].free_cpu - pod.cpu_milli,
                                             free_memory_[n] - pod.memory_mib);
    if (score > best_score) best = n, best_score = score;
  }
  if (best < nodes_.size()) charge(best, pod);
  return {};
}

core::Request Replay::request_of(const sim::TracePod& pod) const {
  core::Request request;
  request.uid = {fmt::format("pod-{}", serial_)};
  const std::int64_t share = share_of_card(pod);
  request.positions.push_back(
      {core::PositionKind::kApp,
       {{{0}, pod.cards, {share}, core::DeviceAsk::kNoPercent, {share * 100 / kWholeCard}}}});
  request.node_policy = policies::find_node_policy(options_.node_policy);
  request.device_policies = *policies::parse_device_chain(options_.device_policy);
  if (options_.hami) {
    request.mode = core::ScoreMode::kHami;
    request.hami = {options_.device_policy, options_.node_policy};
  }
  if (pod.models.empty()) return request;
  core::Constraints constraints{.vendor = {0}};
  for (const std::string_view model : text::split(pod.models, '|'))
    constraints.use_models.emplace_back(model);
  request.constraints.push_back(std::move(constraints));
  return request;
}

Status Replay::place_device_pod(const sim::TracePod& pod) {
  candidates_.open(cluster_);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (has_room(n, pod)) candidates_.add(NodeId{n});
  ++serial_;
  const core::Request request = request_of(pod);
  const auto begin = SteadyClock::now();
  auto choice = index_.choose(cluster_, request, candidates_);
  figures_.spent += SteadyClock::now() - begin;
  ++figures_.decisions;
  if (options_.check_every > 0 && serial_ % options_.check_every == 0)
    if (Status status = compare(request, choice); !status) return status;
  if (!choice.decision) return {};
  if (Status status = take(pod, *choice.decision); !status) return status;
  const auto reserve_begin = SteadyClock::now();
  const auto held =
      cluster_.reserve(request.uid, std::move(choice.decision->allocation), MonoTime::max());
  figures_.spent += SteadyClock::now() - reserve_begin;
  return held ? Status{} : fail(Code::kInternal, "a choice could not be reserved");
}

Status Replay::compare(const core::Request& request, const core::PlaceIndex::Choice& choice) {
  const core::Outcome plain = core::place(cluster_, request, candidates_.ids());
  ++figures_.compared;
  const bool same = plain.decision.has_value() == choice.decision.has_value() &&
                    (!plain.decision || plain.decision->allocation == choice.decision->allocation);
  return same ? Status{}
              : fail(Code::kInternal, fmt::format("decision {}: not the plain one's", serial_));
}

/// Into the bench's own books, which refuse what does not fit.
Status Replay::take(const sim::TracePod& pod, const core::Decision& decision) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::kInternal, fmt::format("pod {} ({} cards of {}, {}): {}", pod.name, pod.cards,
                                             pod.card_milli, pod.models, why));
  };
  const std::size_t n = decision.node.v;
  if (n >= nodes_.size() || decision.allocation.node != node_name(n)) return wrong("no such node");
  if (!has_room(n, pod) || !accepts_model(pod.models, machines_[n].model))
    return wrong("on a node without its CPU, memory or model");
  std::set<std::string_view> cards;
  for (const core::Grant& grant : decision.allocation.grants) {
    cards.insert(grant.device);
    const auto slash = grant.device.find('/');
    const auto index = text::parse_int(std::string_view(grant.device).substr(slash + 1), 32);
    if (!index || grant.device.substr(0, slash) != node_name(n)) return wrong("no such card");
    std::int64_t& free = nodes_[n].free_cards.at(static_cast<std::size_t>(*index));
    free -= share_of_card(pod);
    if (free < 0) return wrong("more than the card has");
  }
  if (static_cast<std::int64_t>(cards.size()) != pod.cards) return wrong("not as many cards");
  given_ += asked_share(pod);
  charge(n, pod);
  return {};
}

}  // namespace tessera::bench
