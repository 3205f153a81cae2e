/// Which resource a path of the API server names, for labels of metrics. Thread rule: pure
/// function.
#pragma once

#include <string>
#include <string_view>

namespace tessera::client {

/// "pods", "pods/binding", "leases"; never a name or namespace. "other" for paths of another form.
std::string resource_of(std::string_view path);

}  // namespace tessera::client
