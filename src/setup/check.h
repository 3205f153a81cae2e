/// Names what of a user's kube-scheduler configuration will not work with our server, and what
/// happens in the cluster because of it. Pure: a configuration and an offer in, findings out.
#pragma once

#include <string_view>
#include <vector>

#include "setup/finding.h"
#include "setup/offer.h"
#include "setup/scheduler_config.h"

namespace tessera::setup {

/// Reads and checks; sorted by line.
std::vector<Finding> check_scheduler_config(std::string_view text, const Offer& offer);

}  // namespace tessera::setup
