// How good a node is for the pod that Fitter has placed on it.
#include <algorithm>
#include <cmath>

#include "core/fitter.h"

namespace tessera::core {

NodeKey Fitter::node_key() { return hami_mode_ ? hami_key() : corrected_key(); }

/// The load of each vendor's devices with the pod on them, in view_.
void Fitter::sum_loads() {
  for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
    const Node::VendorSum sum = node_->sum_of(list_.vendors[row].id);
    view_[row] = {sum.load_ppm, sum.devices};
  }
  // The kept sums are of the node as it is; correct them where this pod changes something, each
  // device once.
  changed_.clear();
  for (const Ledger::OwnUse& own : own_) {
    if (own.device != Ledger::kAbsent) changed_.push_back(own.device);
  }
  for (const Ledger::Entry& entry : ledger_.entries()) changed_.push_back(entry.device);
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::uint32_t i : changed_) {
    const Device& device = node_->spec.devices[i];
    for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
      if (list_.vendors[row].id != device.vendor) continue;
      view_[row].load_sum_ppm += load_ppm(device, ledger_.total(i)) - node_->load[i];
    }
  }
}

/// The kept sums know equal weights only (D3).
void Fitter::sum_weighted_loads() {
  for (NodeView::Vendor& vendor : view_) vendor = {};
  const std::vector<Device>& devices = node_->spec.devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
      if (list_.vendors[row].id != devices[i].vendor) continue;
      ++view_[row].devices;
      view_[row].load_sum_ppm += load_ppm(devices[i], ledger_.total(i), request_.weights);
    }
  }
}

NodeKey Fitter::corrected_key() {
  if (request_.weights == ScoreWeights{}) {
    sum_loads();
  } else {
    sum_weighted_loads();
  }
  const NodeView view{view_, node_->spec.label_priority};
  NodeKey key{.load = request_.node_policy->key(view)};
  if (request_.node_policy_before != nullptr) key.before = request_.node_policy_before->key(view);
  if (request_.node_policy_after != nullptr) key.after = request_.node_policy_after->key(view);
  score_ = std::fabs(static_cast<double>(key.load)) / 10'000.0;
  if (request_.topology && !node_->spec.links.empty()) {
    for (const std::int64_t value : link_values_) key.topology += value;
  }
  if (!has_hooks_) return key;
  for (const AskedVendor& vendor : list_.vendors) {
    if (vendor.rules.hooks == nullptr) continue;
    const auto picks = picks_of(vendor.id);
    if (picks.empty()) continue;
    key.topology +=
        vendor.rules.hooks->topology_score({node_->spec, vendor.id, used_by_others(), picks});
  }
  return key;
}

NodeKey Fitter::hami_key() {
  float score = hami_node_score(node_->spec, used_by_others());
  for (const AskedVendor& vendor : list_.vendors) {
    if (vendor.rules.hooks == nullptr) continue;
    const auto picks = picks_of(vendor.id);
    if (picks.empty()) continue;
    score += vendor.rules.hooks->hami_score({node_->spec, vendor.id, used_by_others(), picks});
  }
  score_ = static_cast<double>(score);
  return {.load = request_.hami.node == "spread" ? -ordered(score) : ordered(score)};
}

std::span<const Usage> Fitter::used_by_others() {
  if (own_.empty()) return node_->used;
  others_.resize(node_->used.size());
  for (std::uint32_t i = 0; i < others_.size(); ++i) others_[i] = ledger_.base(i);
  return others_;
}

std::vector<TopologyView::Pick> Fitter::picks_of(VendorId vendor) const {
  std::vector<TopologyView::Pick> picks;
  for (const Ledger::Entry& entry : ledger_.entries()) {
    if (node_->spec.devices[entry.device].vendor != vendor) continue;
    picks.push_back({entry.slice.position, entry.device});
  }
  return picks;
}

}  // namespace tessera::core
