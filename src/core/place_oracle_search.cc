// Every set of cards: the best linked one for one container, and, where the containers stand in
// each other's way, the first that leaves everybody a place. A search that would try more than
// kPatience choices gives up.
#include "core/place_oracle_node.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::core::oracle {

namespace {
constexpr int kPatience = 1'000'000;
}  // namespace

std::int64_t NodeOracle::link(std::size_t a, std::size_t b) const {
  const std::size_t n = spec().devices.size();
  return a == b ? 0 : std::int64_t{spec().links[a * n + b]} + spec().links[b * n + a];
}

std::int64_t NodeOracle::worth(const std::vector<std::size_t>& set,
                               const std::vector<std::size_t>& candidates) const {
  std::int64_t sum = 0;
  if (set.size() == 1) {
    for (const std::size_t other : candidates) sum -= link(set[0], other);
    return sum;
  }
  for (std::size_t a = 0; a < set.size(); ++a) {
    for (std::size_t b = a + 1; b < set.size(); ++b) sum += link(set[a], set[b]);
  }
  return sum;
}

std::vector<std::size_t> NodeOracle::best_set(const std::vector<std::size_t>& candidates,
                                              std::size_t count) const {
  std::vector<bool> member(candidates.size());
  std::fill(member.begin(), member.begin() + static_cast<std::ptrdiff_t>(count), true);
  std::vector<std::size_t> best;
  do {
    std::vector<std::size_t> set;
    for (std::size_t i = 0; i < member.size(); ++i) {
      if (member[i]) set.push_back(candidates[i]);
    }
    if (best.empty() || worth(set, candidates) > worth(best, candidates)) best = set;
  } while (std::prev_permutation(member.begin(), member.end()));
  return best;
}

std::vector<Group> NodeOracle::groups(std::size_t at) const {
  const Want& want = wants_[at];
  if (gate(at) != CardReason::kCount) return {};
  std::map<std::int64_t, Group> by_numa;
  std::map<std::int64_t, std::size_t> room;
  for (const Option& option : cards_.ordered(want, chosen)) {
    std::size_t times = 0;
    std::vector<Chosen> beside = chosen;
    while (times < want.count() && (times == 0 || spec().devices[option.device].partitioned()) &&
           cards_.verdict(option.device, want, chosen, beside, chosen) == CardReason::kCount) {
      beside.push_back(cards_.slice(option.device, want, beside));
      ++times;
    }
    if (times == 0) continue;
    const std::int64_t numa = cards_.bound_to_numa(want) ? spec().devices[option.device].numa : 0;
    Group& group = by_numa[numa];
    group.sums.resize(request_.device_policies.size());
    for (std::size_t i = 0; i < times && room[numa] < want.count(); ++i, ++room[numa]) {
      add_keys(option, group);
    }
    if (group.options.empty()) group.first = option;
    group.options.push_back(option);
  }
  std::vector<Group> result;
  for (auto& [numa, group] : by_numa) {
    if (room[numa] >= want.count()) result.push_back(std::move(group));
  }
  std::sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.rank() < b.rank(); });
  return result;
}

bool NodeOracle::search(std::size_t at) {
  if (at == wants_.size()) return true;
  const std::size_t mark = chosen.size();
  const bool hooks = cards_.rules(wants_[at].ask.vendor).hooks != nullptr;
  if (hooks || linked()) {
    if (++tried_ > kPatience) return false;
    if (choose(at)) {
      if (search(at + 1)) return true;
      chosen.resize(mark);
    }
    if (hooks && decides(at)) return false;
  }
  for (const Group& group : groups(at)) {
    if (subsets(at, group, 0, mark)) return true;
  }
  return false;
}

bool NodeOracle::decides(std::size_t at) const {
  bool does = false;
  hooked(at, cards_.ordered(wants_[at], chosen),
         [&](const ChoiceView& view) { does = view.vendor.rules.hooks->chooses(view); });
  return does;
}

bool NodeOracle::subsets(std::size_t at, const Group& group, std::size_t from, std::size_t mark) {
  const Want& want = wants_[at];
  if (chosen.size() - mark == want.count()) {
    if (linked()) {
      std::vector<std::size_t> candidates, set;
      for (const Option& o : group.options) candidates.push_back(o.device);
      for (std::size_t i = mark; i < chosen.size(); ++i) set.push_back(chosen[i].device);
      links_[at] = worth(set, candidates);
    }
    return search(at + 1);
  }
  for (std::size_t i = from; i < group.options.size(); ++i) {
    if (++tried_ > kPatience) return false;
    const std::size_t d = group.options[i].device;
    const std::vector<Chosen> before(chosen.begin(),
                                     chosen.begin() + static_cast<std::ptrdiff_t>(mark));
    if (cards_.verdict(d, want, before, chosen, chosen) != CardReason::kCount) continue;
    chosen.push_back(cards_.slice(d, want, chosen));
    const bool again = spec().devices[d].partitioned();
    if (subsets(at, group, again ? i : i + 1, mark)) return true;
    chosen.pop_back();
  }
  return false;
}

}  // namespace tessera::core::oracle
