#include "service/vendor_change.h"

#include <algorithm>
#include <utility>

namespace tessera::service {
namespace {

template <class List>
bool translate_all(const VendorChange& change, List& list) {
  bool all = true;
  for (auto entry = list.begin(); entry != list.end();) {
    if (const auto id = change.id(entry->vendor)) {
      entry->vendor = *id;
      ++entry;
    } else {
      entry = list.erase(entry);
      all = false;
    }
  }
  return all;
}

/// Values by vendor id, in the places of the new ids.
template <class T>
std::vector<T> rearranged(const VendorChange& change, const std::vector<T>& before,
                          std::size_t size) {
  std::vector<T> after(size, T{});
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto id = change.id(VendorId{static_cast<std::uint16_t>(i)});
    if (id) after[id->v] = before[i];
  }
  return after;
}

}  // namespace

VendorChange::VendorChange(const vendors::Vendors& before, const vendors::Vendors& after)
    : rules_(after.rules()) {
  for (const vendors::Vendor& old : before.all()) {
    const auto found = std::find_if(after.all().begin(), after.all().end(),
                                    [&](const auto& row) { return row.word == old.word; });
    if (found == after.all().end())
      ids_.emplace_back();
    else
      ids_.emplace_back(VendorId{static_cast<std::uint16_t>(found - after.all().begin())});
  }
}

std::optional<VendorId> VendorChange::id(VendorId before) const {
  return before.v < ids_.size() ? ids_[before.v] : std::nullopt;
}

core::NodeSpec VendorChange::node(const core::NodeSpec& before) const {
  core::NodeSpec after = before;
  if (!translate_all(*this, after.devices)) after.links.clear();  // they were by place in the list
  after.offered = rearranged(*this, before.offered, rules_.size());
  after.traits = rearranged(*this, before.traits, before.traits.empty() ? 0 : rules_.size());
  return after;
}

bool VendorChange::allocation(core::Allocation& allocation) const {
  const bool grants = translate_all(*this, allocation.grants);
  return translate_all(*this, allocation.stray_mig) && grants;
}

bool VendorChange::request(core::Request& request) const {
  bool all = translate_all(*this, request.constraints);
  for (core::Position& position : request.positions)
    all = translate_all(*this, position.asks) && all;
  return all;
}

core::QuotaSpec VendorChange::quota(const core::QuotaSpec& before) const {
  core::QuotaSpec after = before;
  translate_all(*this, after.limits);
  return after;
}

core::Cluster VendorChange::cluster(const core::Cluster& before) const {
  core::Cluster after(rules_);
  for (const NodeId node : before.present_nodes())
    after.set_node(this->node(before.node(node).spec));
  for (const PodUid& uid : before.holders()) {
    const core::Hold& hold = *before.hold(uid);
    core::Allocation allocation = hold.allocation;
    const bool whole = this->allocation(allocation);
    if (hold.state == core::HoldState::kBound) {
      after.confirm(uid, std::move(allocation));
    } else if (whole) {
      // May be refused where the new rules leave less room: the reservation ends then.
      (void)after.reserve(uid, std::move(allocation), hold.deadline);
    }
  }
  for (const core::QuotaBook::Row& row : before.quotas().rows()) after.set_quota(quota(row.quota));
  return after;
}

}  // namespace tessera::service
