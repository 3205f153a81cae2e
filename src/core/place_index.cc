#include "core/place_index.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <utility>

#include "core/place_order.h"
#include "core/place_rows.h"
#include "core/quota_sum.h"
#include "core/request_class.h"

namespace tessera::core {

struct PlaceIndex::Impl {
  explicit Impl(Options o) : options(o) {}

  Options options;
  boost::unordered_flat_map<std::string, std::unique_ptr<PlaceRows>> classes;
  CardBoard board;
  PlaceRows::Desk desk;
  std::string key;
  Words words;  // the candidates without the node on which the pod holds something
  Figures figures;
  QuotaSum asked, held;  // their memory

  PlaceRows& rows_for(const Cluster& cluster, const Request& request);
  bool crowded() const;
  void drop_idle();
  bool must_be_plain(const Cluster& cluster, const Request& request, const PlaceRows& rows);
};

namespace {

/// The request as far as its class goes.
Request class_of(const Request& request) {
  Request out = request;
  out.uid = {};
  out.pod_namespace.clear();
  out.pod_name.clear();
  out.subject = {};
  return out;
}

bool in_mebibytes(const Request& request) {
  return std::all_of(request.positions.begin(), request.positions.end(), [](const Position& p) {
    return std::all_of(p.asks.begin(), p.asks.end(),
                       [](const DeviceAsk& ask) { return ask.memory.v != 0; });
  });
}

/// What the pod holds already is free for it: that node has a verdict of its own.
struct Own {
  NodeId node;
  Verdict verdict;
  bool locked = false;
};

std::optional<Own> own_verdict(const Cluster& cluster, const Request& request) {
  const Hold* hold = cluster.hold(request.uid);
  if (hold == nullptr) return std::nullopt;
  Own own;
  own.node = cluster.find_node(hold->allocation.node);
  if (!own.node.valid()) return std::nullopt;
  Fitter fitter(cluster, request);
  own.verdict.fits = fitter.fit(own.node);
  if (own.verdict.fits)
    own.verdict.key = fitter.node_key();
  else
    own.verdict.reject = fitter.reject();
  own.locked = cluster.node(own.node).spec.locked;
  return own;
}

/// A pod that holds something already is decided by a fitter that knows it.
Decision decide(const Cluster& cluster, const Request& request, PlaceRows& rows, NodeId node) {
  if (cluster.hold(request.uid) == nullptr) return rows.decide(node, request.subject);
  Fitter fitter(cluster, request);
  fitter.fit(node);
  const NodeKey key = fitter.node_key();
  return {node, fitter.allocation(), key, fitter.score()};
}

std::size_t count_common(const Words& a, std::span<const std::uint64_t> b) {
  std::size_t count = 0;
  for (std::size_t w = 0; w < std::min(a.size(), b.size()); ++w)
    count += static_cast<std::size_t>(std::popcount(a[w] & b[w]));
  return count;
}

bool has_bit(std::span<const std::uint64_t> words, std::uint32_t at) {
  return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1U) != 0;
}

/// The outcome has keys.
PlaceIndex::Choice choice_of(Outcome outcome, const Request& request) {
  PlaceIndex::Choice choice;
  choice.fitting = outcome.fitting.size();
  choice.rejected = outcome.rejected.size();
  choice.decision = std::move(outcome.decision);
  if (!choice.decision) return choice;
  choice.named_count = std::min(outcome.fitting.size(), PlaceIndex::Choice::kNamed);
  for (std::size_t i = 0; i < choice.named_count; ++i) {
    choice.named[i] = outcome.fitting[i];
    choice.scores[i] = score_of(outcome.keys[i], request);
  }
  return choice;
}

}  // namespace

PlaceIndex::PlaceIndex(Options options) : impl_(std::make_unique<Impl>(options)) {}
PlaceIndex::~PlaceIndex() = default;

void PlaceIndex::forget() {
  impl_->classes.clear();
  impl_->board.forget();
}

PlaceIndex::Figures PlaceIndex::figures() const {
  Figures figures = impl_->figures;
  figures.classes = impl_->classes.size();
  return figures;
}

PlaceRows& PlaceIndex::Impl::rows_for(const Cluster& cluster, const Request& request) {
  write_class_key(request, key);
  auto found = classes.find(key);
  if (found == classes.end()) {
    while (crowded()) drop_idle();
    auto fresh = std::make_unique<PlaceRows>(cluster, class_of(request), ++figures.classes_made);
    found = classes.emplace(key, std::move(fresh)).first;
  }
  PlaceRows& rows = *found->second;
  rows.asked = ++figures.asked;
  board.refresh(cluster);
  figures.rows_made +=
      rows.refresh(cluster, board, {options.threads, options.nodes_per_thread}, desk);
  figures.fitted += desk.fitted;
  return rows;
}

/// No room for one more.
bool PlaceIndex::Impl::crowded() const {
  if (classes.empty()) return false;
  if (classes.size() >= options.classes) return true;
  std::size_t bytes = 0;
  for (const auto& [text, rows] : classes) bytes += rows->bytes();
  return bytes + bytes / classes.size() > options.memory;
}

/// Everything that was not asked for in a long time goes, or the one that was not asked for
/// longest.
void PlaceIndex::Impl::drop_idle() {
  const std::size_t dropped = erase_if(classes, [this](const auto& entry) {
    return figures.asked - entry.second->asked > options.idle_asks;
  });
  if (dropped > 0) return;
  classes.erase(std::min_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.second->asked < b.second->asked;
  }));
}

/// A quota is not in the class. It is left aside where it allows the whole request for certain;
/// what a percentage or an instance takes is known per card only.
bool PlaceIndex::Impl::must_be_plain(const Cluster& cluster, const Request& request,
                                     const PlaceRows& rows) {
  if (!cluster.quotas().limits(request.subject.ns)) return false;
  if (rows.partitioned() || !in_mebibytes(request)) return true;
  const QuotaNeeds none;
  const Hold* hold = cluster.hold(request.uid);
  const QuotaNeeds& freed = hold != nullptr ? held.of(hold->allocation) : none;
  return cluster.quotas().excess(request.subject, asked.of(request), freed).has_value();
}

PlaceIndex::Choice PlaceIndex::choose(const Cluster& cluster, const Request& request,
                                      const CandidateSet& candidates, const PlaceOptions& options) {
  PlaceRows& rows = impl_->rows_for(cluster, request);
  if (candidates.repeated() || impl_->must_be_plain(cluster, request, rows)) {
    ++impl_->figures.plain;
    PlaceOptions with_keys = options;
    with_keys.keep_keys = true;
    return choice_of(core::place(cluster, request, candidates.ids(), with_keys), request);
  }
  const auto ranks = cluster.ranks();
  impl_->words.assign(candidates.words().begin(), candidates.words().end());
  const auto own = own_verdict(cluster, request);
  const bool own_asked = own && has_bit(impl_->words, ranks[own->node.v]);
  if (own_asked)
    impl_->words[ranks[own->node.v] / 64] &= ~(std::uint64_t{1} << (ranks[own->node.v] % 64));

  Choice choice;
  choice.fitting = count_common(rows.fitting(), impl_->words);
  std::optional<Best> best;
  if (const auto rank = rows.best(impl_->words, options.prefer_unlocked)) {
    const NodeId node = rows.node_at(*rank);
    best = Best{node, rows.key(node), cluster.node(node).spec.locked};
  }
  if (own_asked && own->verdict.fits) {
    ++choice.fitting;
    const Best mine{own->node, own->verdict.key, own->locked};
    if (!best || wins(cluster, mine, *best, options.prefer_unlocked)) best = mine;
  }
  choice.rejected = candidates.ids().size() - choice.fitting;
  if (!best) return choice;
  choice.decision = decide(cluster, request, rows, best->node);
  for (std::uint32_t i = 0; i < candidates.ids().size(); ++i) {
    if (choice.named_count == std::min(choice.fitting, Choice::kNamed)) break;
    const NodeId id = candidates.ids()[i];
    if (!id.valid() || id.v >= ranks.size()) continue;
    const bool mine = own && id == own->node;
    if (!(mine ? own->verdict.fits : rows.fits(id))) continue;
    choice.scores[choice.named_count] = score_of(mine ? own->verdict.key : rows.key(id), request);
    choice.named[choice.named_count++] = i;
  }
  return choice;
}

Outcome PlaceIndex::place(const Cluster& cluster, const Request& request,
                          const CandidateSet& candidates, const PlaceOptions& options) {
  PlaceRows& rows = impl_->rows_for(cluster, request);
  if (impl_->must_be_plain(cluster, request, rows)) {
    ++impl_->figures.plain;
    return core::place(cluster, request, candidates.ids(), options);
  }
  const auto own = own_verdict(cluster, request);
  Outcome outcome;
  const std::size_t fitting = count_common(rows.fitting(), candidates.words());
  outcome.fitting.reserve(fitting);
  if (options.keep_keys) outcome.keys.reserve(fitting);
  outcome.rejected.reserve(candidates.ids().size() - std::min(fitting, candidates.ids().size()));
  std::optional<Best> best;
  for (std::uint32_t i = 0; i < candidates.ids().size(); ++i) {
    const NodeId id = candidates.ids()[i];
    if (!id.valid() || id.v >= cluster.node_count()) {
      outcome.rejected.push_back({i, {.node_reason = NodeReason::kUnregistered}});
      continue;
    }
    const bool mine = own && id == own->node;
    if (mine ? !own->verdict.fits : !rows.fits(id)) {
      outcome.rejected.push_back({i, mine ? own->verdict.reject : rows.reject(id)});
      continue;
    }
    outcome.fitting.push_back(i);
    const Best challenger{id, mine ? own->verdict.key : rows.key(id), cluster.node(id).spec.locked};
    if (options.keep_keys) outcome.keys.push_back(challenger.key);
    if (!best || wins(cluster, challenger, *best, options.prefer_unlocked)) best = challenger;
  }
  if (best) outcome.decision = decide(cluster, request, rows, best->node);
  return outcome;
}

}  // namespace tessera::core
