#include "core/preempt_bound.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace tessera::core {

RoomBound::RoomBound(const Cluster& cluster, const Request& request)
    : cluster_(cluster),
      request_(request),
      list_(request, cluster.rules()),
      check_(list_, request) {}

void RoomBound::open(NodeId id, std::span<const Movable> pods) {
  node_ = &cluster_.node(id);
  used_ = node_->used;
  uses_.clear();
  const Hold* own = cluster_.hold(request_.uid);
  if (own != nullptr && own->allocation.node == node_->spec.name) {
    add_uses(0, {nullptr, own});
    for (const Use& use : uses_) used_[use.device] -= use.usage;
    uses_.clear();
  }
  for (std::uint32_t pod = 0; pod < pods.size(); ++pod) add_uses(pod, pods[pod]);
  std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
    return std::tie(a.device, a.pod) < std::tie(b.device, b.pod);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const bool same = kept > 0 && uses_[kept - 1].device == uses_[i].device &&
                      uses_[kept - 1].pod == uses_[i].pod;
    if (same) {
      uses_[kept - 1].usage += uses_[i].usage;
    } else {
      uses_[kept++] = uses_[i];
    }
  }
  uses_.resize(kept);
}

/// All grants as if they counted at once: never less than what is freed.
void RoomBound::add_uses(std::uint32_t pod, const Movable& movable) {
  for (const Grant& grant : movable.hold->allocation.grants) {
    const std::size_t device = find_device(node_->spec.devices, grant.vendor, grant.device);
    if (device == node_->spec.devices.size()) continue;
    uses_.push_back({static_cast<std::uint32_t>(device), pod,
                     movable.pod == nullptr ? 0 : movable.pod->priority,
                     Usage{1, grant.memory, grant.cores, 0}});
  }
}

std::uint32_t RoomBound::fewest(std::int64_t level) {
  costs_.assign(node_->spec.devices.size(), kNever);
  std::uint32_t result = 0;
  for (const Demand& demand : list_.demands) {
    const VendorId vendor = list_.vendors[demand.vendor].id;
    const std::vector<bool>& offered = node_->spec.offered;
    if (vendor.v >= offered.size() || !offered[vendor.v]) return kNever;
    needed_.clear();
    bool instances = false;  // one card may do for several
    for (std::uint32_t d = 0; d < node_->spec.devices.size(); ++d) {
      if (node_->spec.devices[d].vendor != vendor) continue;
      const std::uint32_t here = cost(demand, d, level);
      costs_[d] = std::min(costs_[d], here);
      if (here == kNever) continue;
      needed_.push_back(here);
      instances = instances || node_->spec.devices[d].partitioned();
    }
    const auto wanted = instances ? 1 : static_cast<std::uint64_t>(demand.count);
    if (needed_.size() < wanted) return kNever;
    const auto end = needed_.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::partial_sort(needed_.begin(), end, needed_.end());
    const auto sum = std::accumulate(needed_.begin(), end, std::uint64_t{0});
    result = std::max({result, *(end - 1), sharing(sum, level)});
  }
  return result;
}

/// Cards must lose `sum` users in all, counted card by card; one pod may use several cards.
std::uint32_t RoomBound::sharing(std::uint64_t sum, std::int64_t level) {
  cards_of_.clear();
  for (const Use& use : uses_) {
    if (use.priority > level) continue;
    if (use.pod >= cards_of_.size()) cards_of_.resize(use.pod + 1, 0);
    ++cards_of_[use.pod];
  }
  std::sort(cards_of_.begin(), cards_of_.end(), std::greater<>());
  std::uint32_t pods = 0;
  for (std::uint64_t reached = 0; reached < sum && pods < cards_of_.size(); ++pods) {
    reached += cards_of_[pods];
  }
  return pods;
}

std::uint32_t RoomBound::cost(const Demand& demand, std::uint32_t device, std::int64_t level) {
  const Device& card = node_->spec.devices[device];
  if (check_.eligible(node_->spec, card, demand.vendor) != CardReason::kCount) return kNever;
  const Usage seen = used_[device];
  if (check_.plainly(demand, card, seen) == CardReason::kCount) return 0;
  slots_.clear();
  memory_.clear();
  cores_.clear();
  for (const Use& use : uses_) {
    if (use.device != device || use.priority > level) continue;
    slots_.push_back(use.usage.slots);
    memory_.push_back(use.usage.memory.v);
    cores_.push_back(use.usage.cores.v);
  }
  return covering(demand, card, seen);
}

/// How many of those in slots_, memory_ and cores_ must go, the largest of each kind first.
std::uint32_t RoomBound::covering(const Demand& demand, const Device& card, Usage seen) {
  for (std::vector<std::int64_t>* freed : {&slots_, &memory_, &cores_}) {
    std::sort(freed->begin(), freed->end(), std::greater<>());
  }
  for (std::size_t gone = 0; gone < slots_.size(); ++gone) {
    seen -= Usage{slots_[gone], {memory_[gone]}, {cores_[gone]}, 0};
    if (check_.plainly(demand, card, seen) == CardReason::kCount) {
      return static_cast<std::uint32_t>(gone + 1);
    }
  }
  return kNever;
}

bool RoomBound::orderly() const {
  if (request_.mode == ScoreMode::kHami) return false;
  for (const AskedVendor& vendor : list_.vendors) {
    if (vendor.rules.hooks != nullptr) return false;
    for (const Device& device : node_->spec.devices) {
      if (device.vendor == vendor.id && device.partitioned()) return false;
    }
  }
  return true;
}

}  // namespace tessera::core
