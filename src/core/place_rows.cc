#include "core/place_rows.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "core/prefetch.h"

namespace tessera::core {
namespace {

/// More make a search slow and a class large.
constexpr std::size_t kMostBuckets = 256;
constexpr std::int64_t kWidestStep = std::int64_t{1} << 60;
constexpr int kMostShift = 63;
/// Distinct refusals and keys of a class; beyond it those that no row has any more are dropped.
constexpr std::size_t kMostRejects = 4096, kMostKeys = 4096;
/// When so many rows change, the buckets are made anew.
constexpr std::size_t kManyRows = 512;

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

/// Neither what vendors' own rules read of a node nor its cards' ids decide (card_board.h).
bool same_for_alike(const Cluster& cluster, const Request& request) {
  if (request.mode != ScoreMode::kCorrected) return false;
  const DemandList list(request, cluster.rules());
  return std::all_of(list.vendors.begin(), list.vendors.end(), [](const AskedVendor& vendor) {
    const Constraints* constraints = vendor.constraints;
    return vendor.rules.hooks == nullptr &&
           (constraints == nullptr ||
            (constraints->use_ids.empty() && constraints->nouse_ids.empty()));
  });
}

std::uint64_t hash_of(const CardBoard::Row& row, std::span<const CardBoard::Card> cards) {
  std::uint64_t hash = static_cast<std::uint64_t>(row.label_priority);
  for (const CardBoard::Card& card : cards) {
    hash = (hash ^ (std::uint64_t{card.state} << 32 | card.device)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

bool alike(const CardBoard& board, const CardBoard::Row& a, const CardBoard::Row& b) {
  const auto left = board.cards(a), right = board.cards(b);
  return a.label_priority == b.label_priority && a.present == b.present && a.offers == b.offers &&
         std::equal(left.begin(), left.end(), right.begin(), right.end());
}

}  // namespace

/// Looks at one node after the other for one class, quickly where that suffices. One per thread.
class PlaceRows::Looker {
 public:
  Looker(const Cluster& cluster, const CardBoard& board, Fitter& fitter, QuickLook& quick,
         QuickLook::Memory& memory)
      : cluster_(cluster), board_(board), fitter_(fitter), quick_(quick), memory_(memory) {
    if (quick_.suits()) quick_.open(board_, memory_);
  }

  void look(NodeId id, Verdict& out) {
    out.by_fitter = false;
    if (quick_.suits() && quick_.look(board_, id, memory_, out)) return;
    out.by_fitter = true;
    out.fits = fitter_.fit(id);
    if (out.fits)
      out.key = fitter_.node_key();
    else
      out.reject = fitter_.reject();
  }
  /// A quick look has all it needs close at hand.
  void prefetch(NodeId id) const {
    if (!quick_.suits()) prefetch_cards(cluster_.node(id));
  }

 private:
  const Cluster& cluster_;
  const CardBoard& board_;
  Fitter& fitter_;
  QuickLook& quick_;
  QuickLook::Memory& memory_;
};

std::size_t PlaceRows::KeyHash::operator()(const NodeKey& key) const {
  std::uint64_t hash = 0;
  for (const std::int64_t part : {key.before, key.topology, key.load, key.after}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

PlaceRows::PlaceRows(const Cluster& cluster, Request request, std::uint64_t serial)
    : request_(std::move(request)),
      fitter_(cluster, request_),
      quick_(request_, cluster.rules(), serial),
      serial_(serial),
      same_for_alike_(!quick_.suits() && same_for_alike(cluster, request_)) {}

std::size_t PlaceRows::bytes() const {
  constexpr std::size_t kPerReject = sizeof(Reject) + 48, kPerBucket = sizeof(Bucket) + 64;
  return sizeof(*this) + rows_.capacity() * sizeof(Row) + keys_.capacity() * sizeof(Kept) +
         key_places_.bucket_count() * 5 + rejects_.size() * kPerReject +
         by_rank_.capacity() * sizeof(NodeId) +
         (buckets_.size() + spare_.size()) * (kPerBucket + fitting_.size() * 8);
}

// ---- keeping up

std::size_t PlaceRows::refresh(const Cluster& cluster, const CardBoard& board,
                               const Threads& threads, Desk& desk) {
  const std::size_t nodes = cluster.node_count();
  if (rows_.size() < nodes) rows_.resize(nodes);
  if (!looked_ || rank_version_ != cluster.rank_version()) rebuild_buckets(cluster, board);
  find_changed(cluster, board, desk);
  in_buckets_ = desk.changed.size() < kManyRows;
  work_out(cluster, board, threads, desk);
  if (!in_buckets_ || buckets_.size() > kMostBuckets) rebuild_buckets(cluster, board);
  in_buckets_ = true;
  if (rejects_.size() > kMostRejects + rows_.size()) forget_rejects();
  if (keys_.size() > kMostKeys + rows_.size()) forget_keys();
  return desk.changed.size();
}

/// Each node whose row is of another version, once.
void PlaceRows::find_changed(const Cluster& cluster, const CardBoard& board, Desk& desk) {
  std::vector<NodeId>& changed = desk.changed;
  changed.clear();
  const bool all = !looked_ || !cluster.changes_since(seen_, changed);
  looked_ = true;
  seen_ = cluster.change_count();
  if (all) {
    changed.clear();
    for (std::uint32_t i = 0; i < rows_.size(); ++i) changed.push_back(NodeId{i});
  } else if (changed.size() > 1) {
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  }
  std::erase_if(changed, [&](NodeId id) { return rows_[id.v].version == board.row(id).version; });
}

/// Nodes that look the same get the same verdict; what the board does not show of a node (links,
/// the places of instances) makes it one of its own. Compared exactly, the hash only finds it.
void PlaceRows::find_alike(const CardBoard& board, Desk& desk) const {
  desk.looked_at.clear();
  desk.like.clear();
  const bool several = same_for_alike_ && desk.changed.size() > 1;
  if (several) desk.by_hash.clear();
  for (const NodeId id : desk.changed) {
    const CardBoard::Row& row = board.row(id);
    const auto next = static_cast<std::uint32_t>(desk.looked_at.size());
    if (!several || row.linked || row.partitioned) {
      desk.like.push_back(next);
      desk.looked_at.push_back(id);
      continue;
    }
    const auto [at, fresh] = desk.by_hash.try_emplace(hash_of(row, board.cards(row)), next);
    const bool known = !fresh && alike(board, board.row(desk.looked_at[at->second]), row);
    desk.like.push_back(known ? at->second : next);
    if (!known) desk.looked_at.push_back(id);
  }
}

void PlaceRows::work_out(const Cluster& cluster, const CardBoard& board, const Threads& threads,
                         Desk& desk) {
  find_alike(board, desk);
  look_at(cluster, board, threads, desk);
  desk.fitted = static_cast<std::size_t>(
      std::count_if(desk.verdicts.begin(), desk.verdicts.begin() + std::ssize(desk.looked_at),
                    [](const Verdict& verdict) { return verdict.by_fitter; }));
  const auto ranks = cluster.ranks();
  for (std::size_t i = 0; i < desk.changed.size(); ++i) {
    const NodeId id = desk.changed[i];
    set(board, id, ranks[id.v], desk.verdicts[desk.like[i]]);
  }
}

/// A node's verdict depends on nothing but the node: shared out among threads and written down in
/// order, the result is the same for any number of them.
void PlaceRows::look_at(const Cluster& cluster, const CardBoard& board, const Threads& threads,
                        Desk& desk) {
  const std::vector<NodeId>& nodes = desk.looked_at;
  const std::size_t useful = nodes.size() / std::max<std::size_t>(threads.nodes_each, 1);
  const std::size_t count = std::clamp<std::size_t>(useful, 1, std::max(threads.count, 1U));
  if (desk.memories.size() < count) desk.memories.resize(count);
  if (desk.verdicts.size() < nodes.size()) desk.verdicts.resize(nodes.size());
  const auto part = [&](Looker looker, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i + 1 < end) looker.prefetch(nodes[i + 1]);
      looker.look(nodes[i], desk.verdicts[i]);
    }
  };
  std::vector<std::thread> helpers;
  const auto bound = [&](std::size_t n) { return nodes.size() * n / count; };
  for (std::size_t n = 1; n < count; ++n) {
    helpers.emplace_back([&, n] {
      Fitter fitter(cluster, request_);
      QuickLook quick(request_, cluster.rules(), serial_);
      part({cluster, board, fitter, quick, desk.memories[n]}, bound(n), bound(n + 1));
    });
  }
  part({cluster, board, fitter_, quick_, desk.memories[0]}, 0, bound(1));
  for (std::thread& helper : helpers) helper.join();
}

void PlaceRows::set(const CardBoard& board, NodeId id, std::uint32_t rank, const Verdict& verdict) {
  const CardBoard::Row& node = board.row(id);
  Row& row = rows_[id.v];
  if (row.fits && in_buckets_) remove(row, rank);
  row.version = node.version;
  row.fits = verdict.fits;
  write_bit(locked_, rank, node.locked);
  partitioned_ = partitioned_ || node.partitioned;
  row.place = verdict.fits ? intern(verdict.key) : intern(verdict.reject);
  if (verdict.fits && in_buckets_) insert(row, rank);
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

/// Half as many as may be: so it is long until it must be done again.
void PlaceRows::coarsen_until_few() {
  std::vector<NodeKey> keys;
  for (const Kept& kept : keys_) {
    if (kept.nodes > 0) keys.push_back(kept.key);
  }
  if (keys.size() <= kMostBuckets) return;
  std::sort(keys.begin(), keys.end());
  const auto buckets = [&] {
    std::size_t count = 1;
    for (std::size_t i = 1; i < keys.size(); ++i)
      count += coarse(keys[i]) != coarse(keys[i - 1]) ? 1 : 0;
    return count;
  };
  if (buckets() <= kMostBuckets) return;
  while (buckets() > kMostBuckets / 2) coarsen();
}

/// The memory of an emptied bucket serves the next one.
PlaceRows::Bucket& PlaceRows::bucket_at(const Coarse& at) {
  if (const auto found = buckets_.find(at); found != buckets_.end()) return found->second;
  if (spare_.empty()) {
    Bucket& fresh = buckets_[at];
    fresh.at = at;
    fresh.words.resize(fitting_.size(), 0);
    return fresh;
  }
  Buckets::node_type used = std::move(spare_.back());
  spare_.pop_back();
  used.key() = at;
  used.mapped().at = at;
  return buckets_.insert(std::move(used)).position->second;
}

void PlaceRows::insert(Row& row, std::uint32_t rank) {
  Kept& kept = keys_[row.place];
  ++kept.nodes;
  if (kept.bucket == nullptr) {
    kept.bucket = &bucket_at(coarse(kept.key));
    ++kept.bucket->keys;
  }
  set_bit(kept.bucket->words, rank);
  set_bit(fitting_, rank);
}

void PlaceRows::remove(Row& row, std::uint32_t rank) {
  Kept& kept = keys_[row.place];
  clear_bit(kept.bucket->words, rank);
  clear_bit(fitting_, rank);
  if (--kept.nodes > 0) return;
  Bucket& bucket = *std::exchange(kept.bucket, nullptr);
  if (--bucket.keys == 0) spare_.push_back(buckets_.extract(bucket.at));
}

/// From the rows: ranks are others, or many keys, or there are too many buckets.
void PlaceRows::rebuild_buckets(const Cluster& cluster, const CardBoard& board) {
  const auto ranks = cluster.ranks();
  rank_version_ = cluster.rank_version();
  by_rank_.resize(rows_.size());
  fitting_.assign(words_for(rows_.size()), 0);
  locked_.assign(words_for(rows_.size()), 0);
  buckets_.clear();
  spare_.clear();
  for (Kept& kept : keys_) kept = {kept.key, nullptr, 0};
  for (const Row& row : rows_) {
    if (row.fits) ++keys_[row.place].nodes;
  }
  coarsen_until_few();
  for (Kept& kept : keys_) kept.nodes = 0;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    by_rank_[ranks[i]] = NodeId{i};
    write_bit(locked_, ranks[i], board.row(NodeId{i}).locked);
    if (rows_[i].fits) insert(rows_[i], ranks[i]);
  }
}

// ---- keys and refusals, each distinct one once

std::uint32_t PlaceRows::intern(const NodeKey& key) {
  if (const auto found = key_places_.find(key); found != key_places_.end()) return *found;
  const auto place = static_cast<std::uint32_t>(keys_.size());
  keys_.push_back({key, nullptr, 0});
  key_places_.insert(place);
  return place;
}

/// The places of keys change, the buckets do not.
void PlaceRows::forget_keys() {
  key_places_.clear();
  const std::vector<Kept> before = std::exchange(keys_, {});
  for (Row& row : rows_) {
    if (!row.fits) continue;
    const Kept& kept = before[row.place];
    row.place = intern(kept.key);
    keys_[row.place] = kept;
  }
}

std::uint32_t PlaceRows::intern(const Reject& reject) {
  if (last_reject_ < rejects_.size() && rejects_[last_reject_] == reject) return last_reject_;
  const std::size_t hash = hash_of(reject);
  const auto [first, last] = reject_places_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (rejects_[at->second] == reject) return last_reject_ = at->second;
  }
  const auto place = static_cast<std::uint32_t>(rejects_.size());
  last_reject_ = place;
  rejects_.push_back(reject);
  reject_places_.emplace(hash, place);
  return place;
}

void PlaceRows::forget_rejects() {
  const std::vector<Reject> before = std::exchange(rejects_, {});
  reject_places_.clear();
  for (Row& row : rows_) {
    if (!row.fits && row.version != UINT64_MAX) row.place = intern(before[row.place]);
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
    if (bucket.keys == 1 && best) bits &= ~locked_[w];
    for (; bits != 0; bits &= bits - 1) {
      const auto rank =
          static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      const bool locked = prefer_unlocked && (locked_[w] & (bits & (~bits + 1))) != 0;
      const NodeKey& key = this->key(by_rank_[rank]);
      // Ranks rise: of equals the one found first stays.
      const bool wins = !best || key > *best_key || (key == *best_key && best_locked && !locked);
      if (wins) {
        best = rank;
        best_key = &key;
        best_locked = locked;
      }
      if (bucket.keys == 1 && !best_locked) return best;
    }
  }
  return best;
}

}  // namespace tessera::core
