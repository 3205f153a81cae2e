#include "service/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "obs/log.h"

namespace tessera::service {
namespace {

std::string words(const core::Usage& usage) {
  return fmt::format("{} slots, {} MiB, {} % cores", usage.slots, usage.memory.v, usage.cores.v);
}

void compare_device(const core::Node& kept, const core::Node& fresh, std::size_t i,
                    std::vector<std::string>& found) {
  const auto name = [&] {
    return fmt::format("node {} device {}", kept.spec.name, kept.spec.devices[i].id);
  };
  if (kept.used[i] != fresh.used[i])
    found.push_back(
        fmt::format("{}: {} against {}", name(), words(kept.used[i]), words(fresh.used[i])));
  if (kept.load[i] != fresh.load[i])
    found.push_back(fmt::format("{}: load {} against {}", name(), kept.load[i], fresh.load[i]));
  const auto mine = kept.placed_on(i), other = fresh.placed_on(i);
  if (kept.plain[i] != fresh.plain[i] ||
      !std::equal(mine.begin(), mine.end(), other.begin(), other.end())) {
    found.push_back(fmt::format("{}: {} instances and {} users without against {} and {}", name(),
                                mine.size(), kept.plain[i], other.size(), fresh.plain[i]));
  }
}

}  // namespace

std::vector<std::string> node_differences(const core::Cluster& cluster, NodeId node) {
  const core::Node& kept = cluster.node(node);
  core::Cluster alone(cluster.rules());
  const NodeId id = alone.set_node(kept.spec);
  for (const PodUid& uid : cluster.holders_on(node))
    alone.confirm(uid, core::Allocation(cluster.hold(uid)->allocation));
  const core::Node& fresh = alone.node(id);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < kept.spec.devices.size(); ++i) compare_device(kept, fresh, i, found);
  if (kept.lost_instances != fresh.lost_instances) {
    found.push_back(fmt::format("node {}: {} lost instances against {}", kept.spec.name,
                                kept.lost_instances, fresh.lost_instances));
  }
  if (kept.vendors != fresh.vendors)
    found.push_back(fmt::format("node {}: different sums by vendor", kept.spec.name));
  return found;
}

std::vector<std::string> quota_differences(const core::Cluster& cluster) {
  core::QuotaBook fresh;
  const core::QuotaBook& kept = cluster.quotas();
  for (const PodUid& uid : cluster.holders()) {
    const core::Allocation& allocation = cluster.hold(uid)->allocation;
    if (kept.limits(allocation.subject.ns))
      fresh.charge(allocation.subject, core::quota_needs(allocation));
  }
  std::vector<std::string> found;
  for (const std::string& ns : kept.namespaces()) {
    if (kept.limits(ns) && kept.used(ns) != fresh.used(ns))
      found.push_back(fmt::format("namespace {}: another use of quotas", ns));
  }
  return found;
}

std::vector<PodUid> orphaned_holds(Books& books, NodeId node) {
  std::vector<PodUid> orphans;
  for (const PodUid& uid : books.cluster().holders_on(node)) {
    const PodRecord* pod = books.pod(uid.v);
    if (pod == nullptr || pod->fact.finished) orphans.push_back(uid);
  }
  return orphans;
}

SelfCheck::SelfCheck(TaskThread& state, Books& books, obs::Metrics& metrics, Options options)
    : state_(state),
      books_(books),
      options_(options),
      runs_(metrics.counter("tessera_self_check_runs_total",
                            "Comparisons of the books with a recomputation.")),
      differences_(
          metrics.counter("tessera_self_check_differences_total",
                          "Differences that comparisons found and repaired; 0 is right.")) {}

void SelfCheck::start() {
  if (options_.interval.count() <= 0) return;
  wrong_ = false;
  step(0);
}

void SelfCheck::step(std::uint32_t next) {
  const std::uint32_t count = static_cast<std::uint32_t>(books_.cluster().node_count());
  const std::uint32_t end =
      std::min<std::uint32_t>(count, next + static_cast<std::uint32_t>(options_.nodes_per_step));
  for (; next < end; ++next) {
    for (const PodUid& uid : orphaned_holds(books_, NodeId{next})) {
      found(fmt::format("pod {} holds devices but is not known", uid.v));
      books_.cluster().release(uid);
    }
    for (const std::string& difference : node_differences(books_.cluster(), NodeId{next})) {
      found(difference);
      wrong_ = true;
    }
  }
  if (next >= count) return finish();
  state_.after(options_.step_pause, [this, next] { step(next); });
}

void SelfCheck::finish() {
  if (!books_.cluster().quotas().rows().empty()) {
    for (const std::string& difference : quota_differences(books_.cluster())) {
      found(difference);
      wrong_ = true;
    }
  }
  if (wrong_) books_.repair();
  runs_.increment();
  state_.after(options_.interval, [this] { start(); });
}

void SelfCheck::found(const std::string& difference) {
  differences_.increment();
  log::error("self-check: the books were wrong and are repaired", {{"difference", difference}});
}

}  // namespace tessera::service
