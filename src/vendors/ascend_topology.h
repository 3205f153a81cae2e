/// Which Ascend cards are taken together: cards of one link group, and both chips of a module.
/// Source: spec/devices/ascend.md sections 8.4 to 9 with weak points 1, 3, 4, 6. Thread rule: pure
/// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/policy.h"

namespace tessera::vendors {

/// `fitting` are indices into `devices`, best first; the answer has exactly `count` of them.
/// Corrected: the smallest link group that holds all, else as few groups as can be, so that large
/// groups stay whole (6); a card without group is a group of its own. HAMi: largest group first.
/// Groups of one size: the one seen first.
std::vector<std::uint32_t> choose_by_group(const std::vector<core::Device>& devices,
                                           std::span<const std::uint32_t> fitting,
                                           std::size_t count, core::ScoreMode mode);

/// Only modules of which both chips fit; corrected: modules are grouped as above, HAMi: first seen.
/// An odd count ends with a single chip, of a module that is broken already if there is one (3).
/// nullopt: not enough.
std::optional<std::vector<std::uint32_t>> choose_by_module(const std::vector<core::Device>& devices,
                                                           std::span<const std::uint32_t> fitting,
                                                           std::size_t count, core::ScoreMode mode);

/// How many chips a walk that takes whole modules until `count` is reached would hold.
std::uint32_t whole_module_chips(const std::vector<core::Device>& devices,
                                 std::span<const std::uint32_t> fitting, std::size_t count);

/// Size of the largest link group among the cards, and of all.
struct GroupShare {
  std::int64_t largest = 0, all = 0;
  bool every_card_grouped = true;
};
GroupShare group_share(const std::vector<core::Device>& devices,
                       std::span<const std::uint32_t> cards);

}  // namespace tessera::vendors
