/// Plays one recorded placement scenario through the same decoders as the live server and place(),
/// and compares the decision with what HAMi answered.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "vendors/vendors.h"

namespace tessera::golden {

struct Comparison {
  bool fit = false;            ///< both place it, or both refuse
  bool placed = false;         ///< we place it
  bool node = false;           ///< of placed ones: a node that HAMi answered, or scores the same
  bool devices = false;        ///< the same texts, empty positions removed (D2)
  bool reasons = false;        ///< of refused ones: the same words for every node
  bool every_position = true;  ///< our text has exactly one entry per position (S-1)
  bool not_worse = true;       ///< D3, in the default mode: judged by the policy asked for
  std::string detail;          ///< both answers, for people
};

/// Errors (an undecodable object) are reported in `detail` with everything false.
Comparison play(const nlohmann::json& scenario, const vendors::Vendors& vendors,
                const vendors::PolicyDefaults& defaults);

}  // namespace tessera::golden
