#include "core/preempt_search.h"

#include <algorithm>

namespace tessera::core {
namespace {

/// Places in the search tree per set that may be tried: most leave out what budgets forbid.
constexpr std::uint64_t kStepsPerSet = 16;

template <class T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// All sets can be tried, and before them, level by level, what the youngest of them could do.
bool few(std::uint64_t pods, std::uint64_t sets) {
  return pods < 32 && (std::uint64_t{1} << pods) + pods * pods <= sets;
}

}  // namespace

Trial::Trial(Cluster& cluster, const Request& request)
    : cluster_(cluster), request_(request), lift_(cluster) {
  if (!cluster.quotas().limits(request.subject.ns)) fitter_.emplace(cluster, request);
}

bool Trial::fits(NodeId node) {
  if (fitter_) return fitter_->fit(node);
  return Fitter(cluster_, request_).fit(node);
}

NodeSearch::NodeSearch(Trial& trial, const SearchTerms& terms, std::span<const SearchPod> pods,
                       std::span<const std::int64_t> budgets, std::span<const std::uint32_t> costs)
    : trial_(trial),
      terms_(terms),
      pods_(pods),
      left_(budgets.begin(), budgets.end()),
      costs_(costs),
      few_(few(pods.size(), terms.sets)) {}

std::optional<NodeSearch::Found> NodeSearch::run(std::int64_t level, std::uint32_t fewest,
                                                 const std::optional<SetRank>& beat) {
  std::vector<std::int64_t> levels;
  for (const SearchPod& pod : pods_) {
    if (pod.pod->priority >= level) levels.push_back(pod.pod->priority);
  }
  sort_unique(levels);
  if (levels.empty() || (terms_.orderly && !everything_helps(levels.back()))) return std::nullopt;
  for (const std::int64_t next : levels) {
    if (beat && next > beat->highest) return std::nullopt;
    auto found = at_level(next, next == level ? std::max(fewest, 1U) : 1, beat);
    put_all_back();
    if (found) return found;
  }
  return std::nullopt;
}

/// Sets whose highest priority is `level`.
std::optional<NodeSearch::Found> NodeSearch::at_level(std::int64_t level, std::uint32_t fewest,
                                                      const std::optional<SetRank>& beat) {
  if (few_) {
    const auto youngest = youngest_start(level);
    return youngest ? enumerate(level, fewest, *youngest, beat) : std::nullopt;
  }
  if (!everything_helps(level)) return std::nullopt;
  auto good = greedy(level);
  put_all_back();
  if (good && beat && !(good->rank < *beat)) good.reset();
  const auto youngest = youngest_start(level);
  if (!youngest) return good;
  auto better = enumerate(level, fewest, *youngest, good ? good->rank : beat);
  return better ? better : good;
}

bool NodeSearch::fits() {
  ++tried_;
  exhausted_ = exhausted_ || tried_ >= terms_.sets;
  return trial_.fits(terms_.node);
}

void NodeSearch::put_all_back() {
  for (const SearchPod& pod : pods_) trial_.lift().on(pod.handle);
  while (!chosen_.empty()) unchoose();
}

bool NodeSearch::everything_helps(std::int64_t level) {
  for (const SearchPod& pod : pods_) {
    if (pod.pod->priority <= level) trial_.lift().off(pod.handle);
  }
  const bool helps = fits();
  put_all_back();
  return helps;
}

/// Sets whose oldest pod is younger than this do not help, all of those pods together do not. Empty
/// when nothing helps.
std::optional<std::int64_t> NodeSearch::youngest_start(std::int64_t level) {
  std::vector<std::int64_t> starts;
  for (const SearchPod& pod : pods_) {
    if (pod.pod->priority <= level) starts.push_back(pod.pod->started);
  }
  sort_unique(starts);
  if (starts.empty()) return std::nullopt;
  if (!terms_.orderly) return starts.back();
  std::optional<std::int64_t> found;
  for (std::size_t i = starts.size(); i > 0 && !found; --i) {
    for (const SearchPod& pod : pods_) {
      const bool joins = pod.pod->priority <= level && pod.pod->started == starts[i - 1];
      if (joins) trial_.lift().off(pod.handle);
    }
    if (fits()) found = starts[i - 1];
  }
  put_all_back();
  return found;
}

SetRank NodeSearch::rank_of(const std::vector<std::uint32_t>& set) const {
  SetRank rank;
  rank.node = terms_.rank;
  rank.count = static_cast<std::uint32_t>(set.size());
  for (const std::uint32_t pod : set) {
    rank.highest = std::max(rank.highest, pods_[pod].pod->priority);
    rank.oldest = std::min(rank.oldest, pods_[pod].pod->started);
  }
  return rank;
}

bool NodeSearch::affords(std::uint32_t pod) const {
  if (!terms_.budgeted) return true;
  const std::vector<std::uint32_t>& budgets = pods_[pod].pod->budgets;
  return std::all_of(budgets.begin(), budgets.end(), [this](std::uint32_t budget) {
    return budget < left_.size() && left_[budget] > 0;
  });
}

void NodeSearch::choose(std::uint32_t pod) {
  for (const std::uint32_t budget : pods_[pod].pod->budgets) {
    if (budget < left_.size()) --left_[budget];
  }
  trial_.lift().off(pods_[pod].handle);
  chosen_.push_back(pod);
}

void NodeSearch::unchoose() {
  const std::uint32_t pod = chosen_.back();
  chosen_.pop_back();
  trial_.lift().on(pods_[pod].handle);
  for (const std::uint32_t budget : pods_[pod].pod->budgets) {
    if (budget < left_.size()) ++left_[budget];
  }
}

std::optional<NodeSearch::Found> NodeSearch::enumerate(std::int64_t level, std::uint32_t fewest,
                                                       std::int64_t youngest,
                                                       const std::optional<SetRank>& beat) {
  std::vector<std::int64_t> starts;
  std::uint32_t most = 0;
  for (const SearchPod& pod : pods_) {
    if (pod.pod->priority > level) continue;
    ++most;
    if (pod.pod->started <= youngest) starts.push_back(pod.pod->started);
  }
  sort_unique(starts);
  std::reverse(starts.begin(), starts.end());
  for (std::uint32_t count = fewest; count <= most; ++count) {
    for (const std::int64_t oldest : starts) {
      // From here on nothing wins; of equal sets of one node the uids decide.
      if (beat && *beat < SetRank{level, count, oldest, terms_.rank}) break;
      if (!sets_with(level, count, oldest)) {
        if (exhausted_) return std::nullopt;
        continue;
      }
      Found found{rank_of(chosen_), chosen_};
      put_all_back();
      return found;
    }
    if (beat && beat->highest == level && count >= beat->count) break;
  }
  return std::nullopt;
}

/// Sets of `count` pods, the highest priority `level` and the oldest started at `oldest`, in order
/// of uids. True: chosen_ is the first that helps.
bool NodeSearch::sets_with(std::int64_t level, std::uint32_t count, std::int64_t oldest) {
  level_ = level;
  oldest_ = oldest;
  pool_.clear();
  std::uint32_t of_that_age = 0, one = 0;
  for (std::uint32_t pod = 0; pod < pods_.size(); ++pod) {
    const Evictable& who = *pods_[pod].pod;
    if (who.priority > level || who.started < oldest) continue;
    pool_.push_back(pod);
    if (who.started != oldest) continue;
    ++of_that_age;
    one = pod;
  }
  if (pool_.size() < count) return false;
  if (of_that_age > 1 || count == 1) return extend(0, count);
  // The one that every set has may stand first: that does not change the order of the others.
  if (!affords(one)) return false;
  std::erase(pool_, one);
  choose(one);
  if (extend(0, count - 1)) return true;
  unchoose();
  return false;
}

bool NodeSearch::extend(std::size_t from, std::uint32_t missing) {
  if (missing == 0) return fits();
  for (std::size_t at = from; at + missing <= pool_.size(); ++at) {
    const std::uint32_t pod = pool_[at];
    if (++steps_ > kStepsPerSet * terms_.sets) exhausted_ = true;
    if (exhausted_) return false;
    if (!affords(pod) || (missing == 1 && !completes(pod))) continue;
    choose(pod);
    if (extend(at + 1, missing - 1)) return true;
    unchoose();
  }
  return false;
}

/// With the last pod the set has the priority and the age that are looked at.
bool NodeSearch::completes(std::uint32_t pod) const {
  bool level = pods_[pod].pod->priority == level_;
  bool oldest = pods_[pod].pod->started == oldest_;
  for (const std::uint32_t other : chosen_) {
    level = level || pods_[other].pod->priority == level_;
    oldest = oldest || pods_[other].pod->started == oldest_;
  }
  return level && oldest;
}

}  // namespace tessera::core
