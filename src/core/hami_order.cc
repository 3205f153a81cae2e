#include "core/hami_order.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "base/text.h"

namespace tessera::core {
namespace {

bool is_offered(const NodeSpec& node, const Device& device) {
  return device.vendor.v < node.offered.size() && node.offered[device.vendor.v];
}

/// What a container asks of cards with this model text.
struct Asked {
  std::int64_t requests = 0, cores = 0, memory = 0;
};

Asked asked_of(const Device& device, const Position& container, const VendorTable& rules) {
  Asked sum;
  for (const DeviceAsk& ask : container.asks) {
    if (ask.count <= 0 || ask.vendor.v >= rules.size()) continue;
    if (rules[ask.vendor.v].word != device.model) continue;
    ++sum.requests;
    sum.cores += ask.cores.v;
    const bool percent = ask.memory_percent != 0 && ask.memory_percent != DeviceAsk::kNoPercent;
    sum.memory += percent ? memory_share(device, ask.memory_percent).v : ask.memory.v;
  }
  return sum;
}

float ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<float>(part) / static_cast<float>(whole);
}

}  // namespace

float hami_device_score(const Device& device, const Usage& used, const Position& container,
                        const VendorTable& rules, const ScoreWeights& weights) {
  if (device.slots == 0 || device.cores.v == 0 || device.memory.v == 0) return 0.0F;
  const Asked asked = asked_of(device, container, rules);
  const float slots =
      static_cast<float>(weights.slots) * ratio(asked.requests + used.slots, device.slots);
  const float cores =
      static_cast<float>(weights.cores) * ratio(asked.cores + used.cores.v, device.cores.v);
  const float memory =
      static_cast<float>(weights.memory) * ratio(asked.memory + used.memory.v, device.memory.v);
  return 10.0F * (slots + cores + memory);
}

float hami_node_score(const NodeSpec& node, std::span<const Usage> used) {
  Usage taken, total;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const Device& device = node.devices[i];
    if (!is_offered(node, device)) continue;
    taken += used[i];
    total.slots += device.slots;
    total.cores += device.cores;
    total.memory += device.memory;
  }
  if (total.slots == 0 || total.cores.v == 0 || total.memory.v == 0) return 0.0F;
  return 10.0F * (ratio(taken.slots, total.slots) + ratio(taken.cores.v, total.cores.v) +
                  ratio(taken.memory.v, total.memory.v));
}

std::int64_t ordered(float score) {
  const auto bits = std::bit_cast<std::int32_t>(score);
  if (bits >= 0) return bits;
  return -std::int64_t{bits & INT32_MAX};
}

float score_of_order(std::int64_t order) {
  const float size = std::bit_cast<float>(static_cast<std::int32_t>(std::abs(order)));
  return order < 0 ? -size : size;
}

HamiOrder::HamiOrder(const Request& request, const DemandList& list, const VendorTable& rules)
    : request_(request), list_(list), rules_(rules) {
  if (request.mode != ScoreMode::kHami) return;
  // The binding of one vendor's cards reorders those of all vendors.
  for (const Constraints& constraints : request.constraints) {
    numa_bind_ = numa_bind_ || constraints.numa_bind;
  }
  read_policy(request.hami.device);
}

void HamiOrder::read_policy(const std::string& text) {
  if (text == "mutex") {
    keys_ = {Key::kSharersUp, Key::kNumaDown};
  } else if (text == "numa" || text.find(',') != std::string::npos) {
    read_chain(text);
  } else if (text == "binpack") {
    keys_ = numa_bind_ ? std::vector{Key::kNumaUp, Key::kScoreDown}
                       : std::vector{Key::kScoreDown, Key::kNumaDown};
  } else {
    keys_ = numa_bind_ ? std::vector{Key::kNumaDown, Key::kScoreUp}
                       : std::vector{Key::kScoreUp, Key::kNumaDown};
  }
}

void HamiOrder::read_chain(const std::string& text) {
  const auto add = [this](Key key) {
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) keys_.push_back(key);
  };
  for (const std::string_view piece : text::split(text, ',')) {
    const std::string_view word = text::trim(piece);
    if (word == "binpack") add(Key::kScoreDown);
    if (word == "spread") add(Key::kScoreUp);
    if (word == "numa") add(Key::kNumaDown);
  }
  if (keys_.empty()) keys_.push_back(Key::kScoreUp);
  if (numa_bind_) {
    std::erase(keys_, Key::kNumaDown);
    keys_.insert(keys_.begin(), Key::kNumaDown);
  }
  keys_.push_back(Key::kIndexDown);
}

void HamiOrder::open(const NodeSpec& node) {
  node_ = &node;
  position_ = UINT32_MAX;
  register_order();
}

void HamiOrder::register_order() {
  order_.resize(node_->devices.size());
  std::iota(order_.begin(), order_.end(), 0U);
}

void HamiOrder::start_container(const Demand& demand, const Ledger& ledger) {
  if (demand.position == position_) return;
  const bool app = demand.kind == PositionKind::kApp;
  const bool before_was_app =
      position_ != UINT32_MAX && request_.positions[position_].kind == PositionKind::kApp;
  if (!app || !before_was_app) register_order();
  position_ = demand.position;
  scores_.resize(node_->devices.size());
  for (std::uint32_t i = 0; i < scores_.size(); ++i) {
    scores_[i] = hami_device_score(node_->devices[i], ledger.seen(i, demand.kind, demand.position),
                                   request_.positions[demand.position], rules_, request_.weights);
  }
}

bool HamiOrder::later(Key key, std::uint32_t a, std::uint32_t b, bool& decided) const {
  const auto compare = [&decided](auto left, auto right, bool small_first) {
    decided = left < right || right < left;
    return small_first ? right < left : left < right;
  };
  const Device& left = node_->devices[a];
  const Device& right = node_->devices[b];
  switch (key) {
    case Key::kScoreUp:
      return compare(scores_[a], scores_[b], true);
    case Key::kScoreDown:
      return compare(scores_[a], scores_[b], false);
    case Key::kNumaUp:
      return compare(left.numa, right.numa, true);
    case Key::kNumaDown:
      return compare(left.numa, right.numa, false);
    case Key::kSharersUp:
      return compare(sharers_[a], sharers_[b], true);
    case Key::kIndexDown:
      break;
  }
  return compare(left.index, right.index, false);
}

std::vector<std::uint32_t> HamiOrder::scan(const Demand& demand, const Ledger& ledger) {
  start_container(demand, ledger);
  sharers_.resize(node_->devices.size());
  for (std::uint32_t i = 0; i < sharers_.size(); ++i) {
    sharers_[i] = ledger.seen(i, demand.kind, demand.position).slots;
  }
  std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
    for (const Key key : keys_) {
      bool decided = false;
      const bool a_is_later = later(key, a, b, decided);
      if (decided) return a_is_later;
    }
    return false;
  });
  std::vector<std::uint32_t> cards;
  const VendorId vendor = list_.vendors[demand.vendor].id;
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    if (node_->devices[*at].vendor == vendor) cards.push_back(*at);
  }
  return cards;
}

}  // namespace tessera::core
