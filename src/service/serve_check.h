/// Turns ServeOptions into the things they name, or says which flag is wrong and what would be
/// right.
#pragma once

#include "base/result.h"
#include "service/server.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct ServePlan {
  vendors::Vendors vendors;
  vendors::PolicyDefaults defaults;
};
Result<ServePlan> check_options(const ServeOptions& options);

/// The table that a device configuration stands for ("" = the built-in one). The error names every
/// fault with line, key and value.
Result<vendors::Vendors> make_vendors(const std::string& yaml, vendors::VendorSwitches switches);

}  // namespace tessera::service
