/// The write that puts a pod on a node, for whoever makes it: its path and body, and what an answer
/// means. Source: spec/extender-protocol.md section 5.4. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "client/api.h"
#include "json/writer.h"

namespace tessera::client {

struct BindingTarget {
  std::string ns, pod, uid, node;  ///< uid "" = any pod of that name
};

/// Of the pod itself; both names must be object names (object_name.h).
std::string pod_path(const std::string& ns, const std::string& pod);
std::string binding_path(const std::string& ns, const std::string& pod);
/// `more` may add members to the metadata.
std::string binding_body(const BindingTarget& target,
                         const std::function<void(json::Writer& metadata)>& more = {});

enum class BindingAnswer : std::uint8_t {
  kBound,
  kRefused,  ///< a refusal in words is final
  kAsk,      ///< a conflict may be our own earlier write, and after a failure of the server or the
             ///< connection the write may have happened: the pod itself knows
};
BindingAnswer judge_binding(const ApiResponse& response);

}  // namespace tessera::client
