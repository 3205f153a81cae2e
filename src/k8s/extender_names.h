/// The usual body of a call, as kube-scheduler writes it: the pod, no nodes, and a long array of
/// names. The names are taken from where they lie by a scan of their own, so that the parser sees
/// the pod alone. Internal to the module.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tessera::k8s {

/// The text of the pod, and `names` in the body, when the body is
/// {"Pod":<pod>,"Nodes":null,"NodeNames":["<name>",…]} without blanks and the names are plain
/// ASCII without escapes. nullopt: anything else, to be read as a whole. The body is valid JSON
/// exactly when the pod's text is.
std::optional<std::string_view> split_names_body(std::string_view body,
                                                 std::vector<std::string_view>& names);

}  // namespace tessera::k8s
