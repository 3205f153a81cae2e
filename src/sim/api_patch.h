/// Merge, strategic merge and JSON patches on objects of the embedded API server. Thread rule: pure
/// functions.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/api_value.h"

namespace tessera::sim::api {

/// RFC 7386.
void apply_merge_patch(Value& target, const Value& patch);

/// Maps are merged; lists with a merge key (containers by name, conditions by type, ...) element by
/// element, others replaced. Knows $patch (replace, delete), $retainKeys, $deleteFromPrimitiveList;
/// $setElementOrder sets the order. kInvalid names a list element without its merge key.
Status apply_strategic_patch(Value& target, const Value& patch);

/// RFC 6902. kInvalid: the patch is malformed; kConflict: it does not apply (failed test, missing
/// path). The target is unchanged on error.
Status apply_json_patch(Value& target, const Value& patch);

}  // namespace tessera::sim::api
