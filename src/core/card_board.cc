#include "core/card_board.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/card_check.h"
#include "core/prefetch.h"

namespace tessera::core {
namespace {

/// Below so many it is not worth while to tidy up.
constexpr std::size_t kFewCards = 4096;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}
std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  return mix(hash, static_cast<std::uint64_t>(value));
}

/// Few makes are found in a cluster, so that it need not tell all of them apart.
std::size_t hash_of(const Device& d, bool cordoned, bool offered) {
  const std::uint64_t flags = (d.healthy ? 1U : 0U) | (cordoned ? 2U : 0U) | (offered ? 4U : 0U);
  const std::uint64_t hash = mix(std::uint64_t{d.vendor.v} << 3 | flags, d.memory.v);
  return static_cast<std::size_t>(mix(mix(hash, d.numa), std::uint64_t{d.model.size()}));
}

}  // namespace

std::size_t CardBoard::StateHash::operator()(const State& state) const {
  std::uint64_t hash = mix(std::uint64_t{state.kind} << 1 | (state.closed ? 1U : 0U),
                           state.used.slots + (state.used.slices << 32));
  hash = mix(mix(hash, state.used.memory.v), state.used.cores.v);
  return static_cast<std::size_t>(hash);
}

void CardBoard::forget() {
  rows_.clear();
  cards_.clear();
  live_cards_ = 0;
  kinds_.clear();
  kind_places_.clear();
  state_places_.clear();
  states_.clear();
  seen_ = 0;
  ++epoch_;
}

/// States and places that nothing refers to any more are dropped all together.
bool CardBoard::wasteful() const {
  const std::size_t enough = 2 * live_cards_ + kFewCards;
  return cards_.size() > enough || states_.size() > enough || kinds_.size() > enough;
}

void CardBoard::refresh(const Cluster& cluster) {
  if (wasteful()) forget();
  changed_.clear();
  const bool all = rows_.empty() || !cluster.changes_since(seen_, changed_);
  seen_ = cluster.change_count();
  rows_.resize(cluster.node_count());
  if (all) {
    changed_.resize(rows_.size());
    for (std::uint32_t i = 0; i < changed_.size(); ++i) changed_[i] = NodeId{i};
  }
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    if (i + 1 < changed_.size()) prefetch_cards(cluster.node(changed_[i + 1]));
    const Node& node = cluster.node(changed_[i]);
    Row& row = rows_[changed_[i].v];
    if (row.version != node.version) take_over(node, row);
  }
}

void CardBoard::take_over(const Node& node, Row& row) {
  if (row.spec_version != node.spec_version) lay_out(node, row);
  take_use(node, row);
  row.version = node.version;
  row.locked = node.spec.locked;
}

/// Everything that pods do not change.
void CardBoard::lay_out(const Node& node, Row& row) {
  const std::vector<Device>& devices = node.spec.devices;
  live_cards_ += devices.size();
  live_cards_ -= row.count;
  if (row.count < devices.size() || row.version == UINT64_MAX) {
    row.first = static_cast<std::uint32_t>(cards_.size());
    cards_.resize(cards_.size() + devices.size());
  }
  row.count = static_cast<std::uint32_t>(devices.size());
  const auto cards = std::span(cards_).subspan(row.first, row.count);
  for (std::uint32_t i = 0; i < devices.size(); ++i) cards[i] = {0, i};
  std::stable_sort(cards.begin(), cards.end(), [&](const Card& a, const Card& b) {
    return devices[a.device].index < devices[b.device].index;
  });
  row.partitioned = false;
  for (Card& card : cards) {
    const Device& device = devices[card.device];
    const VendorId vendor = device.vendor;
    const bool offered = vendor.v < node.spec.offered.size() && node.spec.offered[vendor.v];
    row.partitioned = row.partitioned || device.partitioned();
    card.state =
        intern({intern_kind(device, is_cordoned(node.spec, device), offered), false, {}, 0});
  }
  row.spec_version = node.spec_version;
  row.label_priority = node.spec.label_priority;
  row.present = node.present;
  row.linked = !node.spec.links.empty();
  row.offers = offers_anything(node.spec);
}

/// Most cards of a node that has changed are as they were.
void CardBoard::take_use(const Node& node, const Row& row) {
  const bool all_understood = node.unexplained_users == 0 && node.lost_instances == 0;
  for (Card& card : std::span(cards_).subspan(row.first, row.count)) {
    const State& before = states_[card.state];
    const Usage& used = node.used[card.device];
    const bool closed = !all_understood &&
                        (node.unexplained(card.device) > 0 ||
                         (node.spec.devices[card.device].partitioned() && node.lost_instances > 0));
    if (before.used == used && before.closed == closed) continue;
    card.state = intern({before.kind, closed, used, node.load[card.device]});
  }
}

std::uint32_t CardBoard::intern(const State& state) {
  if (const auto found = state_places_.find(state); found != state_places_.end()) return *found;
  const auto place = static_cast<std::uint32_t>(states_.size());
  states_.push_back(state);
  state_places_.insert(place);
  return place;
}

std::uint32_t CardBoard::intern_kind(const Device& device, bool cordoned, bool offered) {
  const std::size_t hash = hash_of(device, cordoned, offered);
  const auto [first, last] = kind_places_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const Kind& kind = kinds_[at->second];
    if (kind.cordoned == cordoned && kind.offered == offered && same_make(kind.device, device))
      return at->second;
  }
  const auto place = static_cast<std::uint32_t>(kinds_.size());
  Kind& kind = kinds_.emplace_back(Kind{device, cordoned, offered});
  kind.device.id.clear();
  kind.device.index = 0;
  kind.device.group = Device::kNoGroup;
  kind_places_.emplace(hash, place);
  return place;
}

}  // namespace tessera::core
