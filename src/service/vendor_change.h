/// From the vendor ids of one table to those of another: what a new device configuration leaves of
/// the books until fresh lists have come. Vendors are the same when they have the same word.
/// Thread rule: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "core/cluster.h"
#include "core/request.h"
#include "vendors/vendors.h"

namespace tessera::service {

class VendorChange {
 public:
  VendorChange(const vendors::Vendors& before, const vendors::Vendors& after);

  /// nullopt: the new table has no such vendor.
  std::optional<VendorId> id(VendorId before) const;
  /// Devices of vendors that are gone are left out.
  core::NodeSpec node(const core::NodeSpec& before) const;
  /// False: a vendor that it needs is gone (what can be kept of it is kept).
  bool allocation(core::Allocation& allocation) const;
  bool request(core::Request& request) const;
  core::QuotaSpec quota(const core::QuotaSpec& before) const;
  /// Nodes, holds and quotas. A reservation of a vendor that is gone ends, of a bound pod the rest
  /// stays.
  core::Cluster cluster(const core::Cluster& before) const;

 private:
  std::vector<std::optional<VendorId>> ids_;
  core::VendorTable rules_;
};

}  // namespace tessera::service
