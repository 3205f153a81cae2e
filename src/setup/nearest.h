/// The known word that a mistyped one was meant to be.
#pragma once

#include <span>
#include <string_view>

namespace tessera::setup {

/// Equal but for upper and lower case, else at most two letters away (one in short words); "" when
/// none is that near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace tessera::setup
