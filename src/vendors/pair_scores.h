/// How closely the cards of a node are linked, as its agent wrote it. Source: spec/device-model.md
/// section 5.3. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/cluster.h"

namespace tessera::vendors {

/// id -> other id -> score; of two elements with one id the first counts.
using PairScores =
    std::map<std::string, std::map<std::string, std::int32_t, std::less<>>, std::less<>>;
/// null = none. Scores beyond 32 bits are cut to them.
Result<PairScores> decode_pair_scores(std::string_view text);

/// Into spec.links, for the devices of one vendor; cards that have none keep 0.
void set_links(const PairScores& scores, VendorId vendor, core::NodeSpec& spec);
/// Takes the vendor's devices out, and their rows and columns of the links.
void drop_devices(core::NodeSpec& spec, VendorId vendor);

}  // namespace tessera::vendors
