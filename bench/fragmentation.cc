#include "fragmentation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "base/text.h"

namespace tessera::bench {
namespace {

constexpr double kCovered = 0.95;

std::int64_t fragment_of(const NodeState& node, const TargetWorkload::Class& wanted,
                         std::int64_t idle) {
  if (wanted.cards == 0 || !accepts_model(wanted.models, node.model)) return idle;
  if (node.free_cpu < wanted.cpu) return idle;
  std::int64_t fitting = 0, left_over = 0;
  for (const std::int64_t free : node.free_cards) {
    if (free >= wanted.share)
      ++fitting;
    else
      left_over += free;
  }
  return fitting < wanted.cards ? idle : left_over;
}

}  // namespace

std::int64_t NodeState::idle() const {
  return std::accumulate(free_cards.begin(), free_cards.end(), std::int64_t{0});
}

bool accepts_model(std::string_view models, std::string_view model) {
  if (models.empty()) return true;
  const auto words = text::split(models, '|');
  return std::find(words.begin(), words.end(), model) != words.end();
}

TargetWorkload TargetWorkload::of(const std::vector<sim::TracePod>& list) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;
  std::map<Key, std::int64_t> counts;
  for (const sim::TracePod& pod : list)
    ++counts[{pod.cpu_milli, pod.cards == 0 ? 0 : pod.card_milli, pod.cards, pod.models}];
  std::vector<std::pair<std::int64_t, Key>> ordered;
  for (const auto& [key, count] : counts) ordered.emplace_back(count, key);
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  std::vector<Class> classes;
  std::int64_t covered = 0;
  for (const auto& [count, key] : ordered) {
    if (static_cast<double>(covered) >= kCovered * static_cast<double>(list.size())) break;
    covered += count;
    const auto& [cpu, share, cards, models] = key;
    classes.push_back({cpu, cards, share, models, static_cast<double>(count)});
  }
  for (Class& c : classes) c.popularity /= static_cast<double>(covered);
  return TargetWorkload(std::move(classes));
}

double TargetWorkload::fragment(const NodeState& node) const {
  const std::int64_t idle = node.idle();
  if (idle == 0) return 0;
  double sum = 0;
  for (const Class& wanted : classes_)
    sum += wanted.popularity * static_cast<double>(fragment_of(node, wanted, idle));
  return sum;
}

}  // namespace tessera::bench
