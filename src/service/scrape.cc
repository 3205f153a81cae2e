#include "service/scrape.h"

#include <chrono>

namespace tessera::service {
namespace {

using std::chrono::steady_clock;

/// How long the state thread works for a page before it looks at what else has come.
constexpr std::chrono::microseconds kSlice{200};
/// The clock is read once in so many nodes.
constexpr std::uint32_t kNodesPerLook = 8;

ScrapePod copy_pod(Books& books, const PodUid& uid, const core::Allocation& allocation) {
  const PodRecord* record = books.pod(uid.v);
  ScrapePod pod;
  if (record != nullptr) {
    pod.ns = record->fact.ns;
    pod.name = record->fact.name;
    pod.containers = record->fact.containers;
  }
  pod.node = allocation.node;
  pod.charges = core::effective_charges(allocation);
  pod.grants = allocation.grants;
  return pod;
}

}  // namespace

/// The version alone would do but for a repair, which goes back to the versions that were.
bool Camera::same(const Shot& shot, const core::Node& node) const {
  return shot.node != nullptr && shot.version == node.version && shot.present == node.present &&
         shot.node->used == node.used;
}

void Camera::shoot_node(Books& books, NodeId id) {
  const core::Node& node = books.cluster().node(id);
  if (same(shots_[id.v], node)) return;
  Fresh& entry = fresh_.emplace_back();
  entry.id = id.v;
  entry.version = node.version;
  ScrapeNode& fresh = entry.node;
  fresh.name = node.spec.name;
  fresh.present = node.present;
  fresh.devices = node.spec.devices;
  fresh.used = node.used;
  fresh.offered = node.spec.offered;
  for (const PodUid& uid : books.cluster().holders_on(id)) {
    const core::Hold* hold = books.cluster().hold(uid);
    if (hold != nullptr) fresh.pods.push_back(copy_pod(books, uid, hold->allocation));
  }
}

/// On the scrape worker, between two slices.
void Camera::pack_fresh() {
  for (const Fresh& fresh : fresh_) {
    shots_[fresh.id] = {
        .version = fresh.version, .present = fresh.node.present, .node = pack(fresh.node)};
  }
  fresh_.clear();
}

/// Node ids from `first` on until the slice is over; the next id.
std::uint32_t Camera::shoot(Books& books, std::uint32_t first) {
  const auto count = static_cast<std::uint32_t>(books.cluster().node_count());
  if (shots_.size() < count) shots_.resize(count);
  const steady_clock::time_point end = steady_clock::now() + kSlice;
  for (std::uint32_t i = first; i < count; ++i) {
    if (i > first && i % kNodesPerLook == 0 && steady_clock::now() >= end) return i;
    shoot_node(books, NodeId{i});
  }
  return count;
}

void Camera::shoot_quotas(const core::QuotaBook& quotas) {
  if (quotas_ != nullptr && quota_version_ == quotas.version()) return;
  auto fresh = std::make_shared<ScrapeQuotas>();
  fresh->rows = quotas.rows();
  for (std::string& ns : quotas.namespaces()) {
    core::QuotaNeeds used = quotas.used(ns);
    fresh->used.emplace_back(std::move(ns), std::move(used));
  }
  quota_version_ = quotas.version();
  quotas_ = std::move(fresh);
}

bool Camera::take(TaskThread& state, Books& books, const std::function<ScrapeFigures()>& figures,
                  std::uint64_t generation, ScrapePicture& picture) {
  if (generation != generation_) {
    shots_.clear();
    quotas_.reset();
    generation_ = generation;
  }
  std::uint32_t next = 0, count = 0;
  do {
    if (!state.run([&] {
          next = shoot(books, next);
          count = static_cast<std::uint32_t>(books.cluster().node_count());
        })) {
      return false;
    }
    pack_fresh();
  } while (next < count);
  if (!state.run([&] {
        picture.figures = figures();
        shoot_quotas(books.cluster().quotas());
      })) {
    return false;
  }
  picture.quotas = quotas_;
  picture.nodes.clear();
  picture.nodes.reserve(shots_.size());
  for (std::uint32_t i = 0; i < count; ++i) picture.nodes.push_back(shots_[i].node);
  return true;
}

}  // namespace tessera::service
