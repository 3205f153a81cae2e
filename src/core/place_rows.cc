#include "core/place_rows.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "core/prefetch.h"

namespace tessera::core {
namespace {

/// More make a search slow and a class large; fewer than a hundred merge loads that differ by one
/// percent.
constexpr std::size_t kMostBuckets = 256;
constexpr std::int64_t kWidestStep = std::int64_t{1} << 60;
constexpr int kMostShift = 63;
/// Distinct refusals of a class; beyond it those that no row has any more are dropped.
constexpr std::size_t kMostRejects = 4096;

std::size_t words_for(std::size_t bits) { return (bits + 63) / 64; }
void set_bit(Words& words, std::uint32_t at) { words[at / 64] |= std::uint64_t{1} << (at % 64); }
void clear_bit(Words& words, std::uint32_t at) {
  words[at / 64] &= ~(std::uint64_t{1} << (at % 64));
}
void write_bit(Words& words, std::uint32_t at, bool value) {
  value ? set_bit(words, at) : clear_bit(words, at);
}

std::int64_t floor_div(std::int64_t value, std::int64_t step) {
  const std::int64_t quotient = value / step;
  return value % step < 0 ? quotient - 1 : quotient;
}

bool same(const Reject& a, const Reject& b) {
  return a.node_reason == b.node_reason && a.cards == b.cards && a.devices == b.devices &&
         a.out_of == b.out_of && a.asked == b.asked && a.position == b.position &&
         a.show_allocated == b.show_allocated;
}

std::size_t hash_of(const Reject& reject) {
  std::uint64_t hash = static_cast<std::uint64_t>(reject.node_reason);
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  for (const std::uint32_t count : reject.cards) mix(count);
  mix(reject.devices);
  mix(reject.out_of);
  mix(reject.asked);
  mix(reject.position);
  mix(reject.show_allocated ? 1 : 0);
  return static_cast<std::size_t>(hash);
}

void look(Fitter& fitter, NodeId id, Verdict& out) {
  out.fits = fitter.fit(id);
  if (out.fits)
    out.key = fitter.node_key();
  else
    out.reject = fitter.reject();
}

}  // namespace

PlaceRows::PlaceRows(const Cluster& cluster, Request request)
    : request_(std::move(request)), fitter_(cluster, request_) {}

// ---- keeping up

std::size_t PlaceRows::refresh(const Cluster& cluster, const Threads& threads) {
  const std::size_t nodes = cluster.node_count();
  if (rows_.size() < nodes) rows_.resize(nodes);
  if (!looked_ || rank_version_ != cluster.rank_version()) rebuild_buckets(cluster);
  find_changed(cluster);
  work_out(cluster, threads);
  if (rejects_.size() > kMostRejects) forget_rejects();
  return changed_.size();
}

/// Into changed_: each node whose row is of another version, once.
void PlaceRows::find_changed(const Cluster& cluster) {
  changed_.clear();
  const bool all = !looked_ || !cluster.changes_since(seen_, changed_);
  looked_ = true;
  seen_ = cluster.change_count();
  if (all) {
    changed_.clear();
    for (std::uint32_t i = 0; i < rows_.size(); ++i) changed_.push_back(NodeId{i});
  } else if (changed_.size() > 1) {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }
  std::erase_if(changed_,
                [&](NodeId id) { return rows_[id.v].version == cluster.node(id).version; });
}

/// A node's verdict depends on nothing but the node: shared out among threads and written down in
/// order, the result is the same for any number of them.
void PlaceRows::work_out(const Cluster& cluster, const Threads& threads) {
  verdicts_.resize(std::max(verdicts_.size(), changed_.size()));
  const std::size_t useful = changed_.size() / std::max<std::size_t>(threads.nodes_each, 1);
  const std::size_t count = std::clamp<std::size_t>(useful, 1, std::max(threads.count, 1U));
  const auto part = [&](Fitter& fitter, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i + 1 < end) prefetch_cards(cluster.node(changed_[i + 1]));
      look(fitter, changed_[i], verdicts_[i]);
    }
  };
  std::vector<std::thread> helpers;
  const auto bound = [&](std::size_t n) { return changed_.size() * n / count; };
  for (std::size_t n = 1; n < count; ++n) {
    helpers.emplace_back([&, n] {
      Fitter fitter(cluster, request_);
      part(fitter, bound(n), bound(n + 1));
    });
  }
  part(fitter_, 0, bound(1));
  for (std::thread& helper : helpers) helper.join();
  for (std::size_t i = 0; i < changed_.size(); ++i) set(cluster, changed_[i], verdicts_[i]);
}

void PlaceRows::set(const Cluster& cluster, NodeId id, const Verdict& verdict) {
  const Node& node = cluster.node(id);
  Row& row = rows_[id.v];
  const std::uint32_t rank = cluster.ranks()[id.v];
  if (row.bucket != nullptr) remove(row, rank);
  row.version = node.version;
  row.key = verdict.key;
  write_bit(locked_, rank, node.spec.locked);
  partitioned_ = partitioned_ || std::any_of(node.spec.devices.begin(), node.spec.devices.end(),
                                             [](const Device& d) { return d.partitioned(); });
  if (!verdict.fits) {
    row.reject = intern(verdict.reject);
    return;
  }
  insert(row, rank);
  if (buckets_.size() <= kMostBuckets) return;
  std::erase_if(buckets_, [](const auto& entry) { return entry.second.count == 0; });
  while (buckets_.size() > kMostBuckets / 2) {
    coarsen();
    rebuild_buckets(cluster);
  }
}

// ---- buckets

PlaceRows::Coarse PlaceRows::coarse(const NodeKey& key) const {
  if (before_shift_ > 0) return {key.before >> before_shift_, 0, 0};
  if (topology_shift_ > 0) return {key.before, key.topology >> topology_shift_, 0};
  return {key.before, key.topology, floor_div(key.load, load_step_)};
}

/// What is less important is dropped before anything that is more important gets coarser: only so
/// the order of the buckets stays that of the keys.
void PlaceRows::coarsen() {
  if (before_shift_ == 0 && topology_shift_ == 0 && load_step_ < kWidestStep) {
    load_step_ *= 8;
  } else if (before_shift_ == 0 && topology_shift_ < kMostShift) {
    topology_shift_ = std::min(topology_shift_ + 6, kMostShift);
  } else {
    before_shift_ = std::min(before_shift_ + 6, kMostShift);
  }
}

void PlaceRows::insert(Row& row, std::uint32_t rank) {
  Bucket& bucket = buckets_[coarse(row.key)];
  if (bucket.words.size() < fitting_.size()) bucket.words.resize(fitting_.size(), 0);
  if (bucket.count == 0) {
    bucket.uniform = true;
    bucket.key = row.key;
  }
  bucket.uniform = bucket.uniform && bucket.key == row.key;
  ++bucket.count;
  set_bit(bucket.words, rank);
  set_bit(fitting_, rank);
  row.bucket = &bucket;
}

void PlaceRows::remove(Row& row, std::uint32_t rank) {
  clear_bit(row.bucket->words, rank);
  clear_bit(fitting_, rank);
  --row.bucket->count;
  row.bucket = nullptr;
}

/// From the rows: ranks are others, or the buckets are.
void PlaceRows::rebuild_buckets(const Cluster& cluster) {
  const auto ranks = cluster.ranks();
  rank_version_ = cluster.rank_version();
  by_rank_.resize(rows_.size());
  fitting_.assign(words_for(rows_.size()), 0);
  locked_.assign(words_for(rows_.size()), 0);
  buckets_.clear();
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    by_rank_[ranks[i]] = NodeId{i};
    write_bit(locked_, ranks[i], cluster.node(NodeId{i}).spec.locked);
    if (std::exchange(rows_[i].bucket, nullptr) != nullptr) insert(rows_[i], ranks[i]);
  }
}

// ---- refusals

std::uint32_t PlaceRows::intern(const Reject& reject) {
  const std::size_t hash = hash_of(reject);
  const auto [first, last] = reject_places_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (same(rejects_[at->second], reject)) return at->second;
  }
  const auto place = static_cast<std::uint32_t>(rejects_.size());
  rejects_.push_back(reject);
  reject_places_.emplace(hash, place);
  return place;
}

void PlaceRows::forget_rejects() {
  const std::vector<Reject> before = std::exchange(rejects_, {});
  reject_places_.clear();
  for (Row& row : rows_) {
    if (row.bucket == nullptr && row.version != UINT64_MAX) row.reject = intern(before[row.reject]);
  }
}

// ---- the best

Decision PlaceRows::decide(NodeId node, const QuotaSubject& subject) {
  fitter_.fit(node);
  const NodeKey key = fitter_.node_key();
  Decision decision{node, fitter_.allocation(), key, fitter_.score()};
  decision.allocation.subject = subject;
  return decision;
}

std::optional<std::uint32_t> PlaceRows::best(const Words& candidates, bool prefer_unlocked) const {
  for (const auto& [coarse, bucket] : buckets_) {
    if (bucket.count == 0) continue;
    if (const auto found = best_in(bucket, candidates, prefer_unlocked)) return found;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> PlaceRows::best_in(const Bucket& bucket, const Words& candidates,
                                                bool prefer_unlocked) const {
  std::optional<std::uint32_t> best;
  const NodeKey* best_key = nullptr;
  bool best_locked = false;
  const std::size_t words = std::min(bucket.words.size(), candidates.size());
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t bits = bucket.words[w] & candidates[w];
    // All keys equal: one without a lock can't be beaten, and only such a one beats the first.
    if (bucket.uniform && best) bits &= ~locked_[w];
    for (; bits != 0; bits &= bits - 1) {
      const auto rank =
          static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      const bool locked = prefer_unlocked && (locked_[w] & (bits & (~bits + 1))) != 0;
      const NodeKey& key = rows_[by_rank_[rank].v].key;
      // Ranks rise: of equals the one found first stays.
      const bool wins = !best || key > *best_key || (key == *best_key && best_locked && !locked);
      if (wins) {
        best = rank;
        best_key = &key;
        best_locked = locked;
      }
      if (bucket.uniform && !best_locked) return best;
    }
  }
  return best;
}

}  // namespace tessera::core
