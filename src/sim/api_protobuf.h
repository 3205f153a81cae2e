/// Bodies that kubectl's typed commands send as protobuf (create namespace, quota, configmap;
/// drain): turned into the same tree that JSON gives. Only the few kinds and fields those commands
/// use. Thread rule: pure function.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/api_value.h"

namespace tessera::sim::api {

constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

/// kInvalid: not well-formed; kUnavailable: a kind that is not understood in this form.
Result<Value> decode_protobuf(std::string_view body);

}  // namespace tessera::sim::api
