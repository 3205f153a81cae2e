/// Texts that HAMi wrote, made comparable with ours: positions without devices are left out on both
/// sides, since HAMi loses them on real nodes (S-1, D2).
#pragma once

#include <string>
#include <string_view>

namespace tessera::golden {

/// Whether the value under this key is decided by the choice of devices: not a time, not the
/// progress of a bind.
bool is_compared(std::string_view key);
/// The value without empty positions. Positions inside JSON become ranks.
std::string comparable(std::string_view key, const std::string& value);
/// Empty positions only, or a JSON list of nothing.
bool says_nothing(const std::string& value);

}  // namespace tessera::golden
