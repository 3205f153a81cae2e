#include "core/quick_look.h"

#include <algorithm>
#include <array>

namespace tessera::core {
namespace {

/// One ask of one vendor whose cards are taken one by one.
bool is_plain(const Request& request, const DemandList& list) {
  if (request.mode != ScoreMode::kCorrected || list.demands.size() != 1) return false;
  const AskedVendor& vendor = list.vendors.front();
  if (vendor.rules.hooks != nullptr) return false;
  const Constraints* constraints = vendor.constraints;
  return constraints == nullptr || (!constraints->numa_bind && constraints->use_ids.empty() &&
                                    constraints->nouse_ids.empty());
}

}  // namespace

QuickLook::QuickLook(const Request& request, const VendorTable& rules, std::uint64_t serial)
    : request_(request),
      list_(request, rules),
      check_(list_, request),
      serial_(serial),
      key_count_(request.device_policies.size()),
      suits_(is_plain(request, list_)) {}

void QuickLook::open(const CardBoard& board, Memory& memory) const {
  const std::size_t states = board.state_count();
  if (memory.class_ != serial_ || memory.epoch_ != board.epoch()) {
    memory.class_ = serial_;
    memory.epoch_ = board.epoch();
    if (++memory.stamp_ == 0) {  // once in four thousand million classes
      memory.cards_.clear();
      ++memory.stamp_;
    }
  }
  if (memory.cards_.size() < states) memory.cards_.resize(states + states / 4);
  const std::size_t keys = memory.cards_.size() * key_count_;
  if (memory.keys_.size() < keys) memory.keys_.resize(keys);
}

Usage QuickLook::with_slice(const CardBoard::State& state, const Device& device) const {
  const Demand& demand = list_.demands.front();
  Usage after = state.used;
  after += {1, memory_of(demand, device), demand.cores, 0};
  return after;
}

/// Whether a card in this state may be taken, and how good it is among others.
void QuickLook::judge(const CardBoard& board, std::uint32_t id, Memory& memory) {
  const CardBoard::State& state = board.state(id);
  const CardBoard::Kind& kind = board.kind(state);
  const Device& device = kind.device;
  Memory::CardVerdict& verdict = memory.cards_[id];
  verdict = {.stamp = memory.stamp_, .outcome = kNotAsked};
  if (!kind.offered || device.vendor != list_.vendors.front().id) return;
  const bool equal = request_.weights == ScoreWeights{};
  verdict.load = equal ? state.load : load_ppm(device, state.used, request_.weights);
  CardReason reason = CardReason::kNotHealthy;
  if (!state.closed) reason = check_.eligible(kind.cordoned, device, 0);
  if (reason == CardReason::kCount)
    reason = check_.plainly(list_.demands.front(), device, state.used);
  verdict.outcome = static_cast<std::uint8_t>(reason);
  if (reason != CardReason::kCount) return;
  const Usage after = with_slice(state, device);
  const DeviceView view{device, state.used, after, request_.weights};
  for (std::size_t k = 0; k < key_count_; ++k)
    memory.keys_[id * key_count_ + k] = request_.device_policies[k]->key(view);
}

bool QuickLook::better(const Memory& memory, std::uint32_t a, std::uint32_t b) const {
  const std::int64_t* left = &memory.keys_[a * key_count_];
  const std::int64_t* right = &memory.keys_[b * key_count_];
  for (std::size_t k = 0; k < key_count_; ++k) {
    if (left[k] != right[k]) return left[k] > right[k];
  }
  return false;
}

/// By how much one slice more raises the card's load.
std::int64_t QuickLook::added_load(const CardBoard& board, std::uint32_t id, Memory& memory) const {
  Memory::CardVerdict& verdict = memory.cards_[id];
  if (!verdict.knows_after) {
    const CardBoard::State& state = board.state(id);
    const Device& device = board.kind(state).device;
    verdict.load_after = load_ppm(device, with_slice(state, device), request_.weights);
    verdict.knows_after = true;
  }
  return verdict.load_after - verdict.load;
}

/// By how much the best cards raise the node's load, the earlier of two equal ones first. There are
/// enough of them.
std::int64_t QuickLook::load_of_best(const CardBoard& board, std::span<const CardBoard::Card> cards,
                                     Memory& memory) const {
  const auto count = static_cast<std::size_t>(list_.demands.front().count);
  std::vector<Memory::Pick>& picks = memory.picks_;
  picks.clear();
  for (std::uint32_t i = 0; i < cards.size(); ++i) {
    if (memory.cards_[cards[i].state].outcome == kFits) picks.push_back({cards[i].state, i});
  }
  if (picks.size() > count) {
    const auto middle = picks.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(picks.begin(), middle, picks.end(),
                     [&](const Memory::Pick& a, const Memory::Pick& b) {
                       if (better(memory, a.state, b.state)) return true;
                       return !better(memory, b.state, a.state) && a.place < b.place;
                     });
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += added_load(board, picks[i].state, memory);
  return sum;
}

void QuickLook::refuse(NodeReason reason, std::uint32_t devices, Verdict& out) const {
  const Demand& demand = list_.demands.front();
  out.fits = false;
  out.reject = {};
  out.reject.node_reason = reason;
  out.reject.devices = devices;
  out.reject.position = demand.position;
  out.reject.asked = static_cast<std::uint32_t>(std::min<std::int64_t>(demand.count, UINT32_MAX));
}

bool QuickLook::look(const CardBoard& board, NodeId id, Memory& memory, Verdict& out) {
  const CardBoard::Row& row = board.row(id);
  if (!row.present || row.partitioned || (row.linked && request_.topology)) return false;
  const auto cards = board.cards(row);
  std::array<std::uint32_t, kNotAsked + 1> counts{};
  std::int64_t load = 0;
  std::uint32_t best = UINT32_MAX;
  for (const CardBoard::Card& card : cards) {
    const Memory::CardVerdict& verdict = memory.cards_[card.state];
    if (verdict.stamp != memory.stamp_) judge(board, card.state, memory);
    ++counts[verdict.outcome];
    load += verdict.load;
    if (verdict.outcome != kFits || card.state == best) continue;
    if (best == UINT32_MAX || better(memory, card.state, best)) best = card.state;
  }
  const std::uint32_t devices = row.count - counts[kNotAsked];
  const std::int64_t wanted = list_.demands.front().count;
  if (devices == 0) {
    refuse(row.offers ? NodeReason::kInsufficientDevice : NodeReason::kUnregistered, 0, out);
  } else if (wanted > devices) {
    refuse(NodeReason::kInsufficientDevice, devices, out);
  } else if (wanted > counts[kFits]) {
    refuse(NodeReason::kNone, devices, out);
    std::copy_n(counts.begin(), out.reject.cards.size(), out.reject.cards.begin());
    out.reject.count(CardReason::kAllocatedCardsInsufficient) = counts[kFits];
  } else {
    load += wanted == 1 ? added_load(board, best, memory) : load_of_best(board, cards, memory);
    const NodeView::Vendor vendor{load, devices};
    const NodeView view{std::span(&vendor, 1), row.label_priority};
    out.fits = true;
    out.key = {.load = request_.node_policy->key(view)};
    if (request_.node_policy_before != nullptr)
      out.key.before = request_.node_policy_before->key(view);
    if (request_.node_policy_after != nullptr)
      out.key.after = request_.node_policy_after->key(view);
  }
  return true;
}

}  // namespace tessera::core
