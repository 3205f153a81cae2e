// What the webhook does to a pod that asks Ascend cards. Source: spec/devices/ascend.md section 6
// with weak points 7, 8, 10, 14; decisions D7.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "vendors/ascend.h"
#include "vendors/ask.h"
#include "vendors/mutate.h"

namespace tessera::vendors {
namespace {

constexpr auto kHideEnv = "ASCEND_VISIBLE_DEVICES";

bool asks_in_limits(const AscendChip& chip, const k8s::Container& container) {
  if (!in_limits(container, chip.count_name)) return false;
  Vendor counted;
  counted.count_resource = chip.count_name;
  return !count_is_zero(container, counted);
}

/// Once for the whole section, and not for a container that uses any chip of it (10).
void hide(const AscendSection& section, const AscendChip& chip, const k8s::Container& container,
          ContainerMutation& mutation) {
  const auto first = std::find_if(section.chips.begin(), section.chips.end(),
                                  [](const AscendChip& c) { return c.overwrite_env; });
  if (first == section.chips.end() || first->word != chip.word) return;
  const bool used = std::any_of(section.chips.begin(), section.chips.end(),
                                [&](const auto& c) { return asks_in_limits(c, container); });
  if (!used) mutation.append_env.emplace_back(kHideEnv, "");
}

/// Whole modules of a paired chip.
Status round_count(const AscendChip& chip, const k8s::Container& container, std::int64_t count,
                   ContainerMutation& mutation) {
  if (!chip.paired() || !chip.super_pod) return {};
  if (count == 1) {
    mutation.set_limits.emplace_back(chip.count_name, "2");
    if (k8s::find(container.requests, chip.count_name) != nullptr) {
      mutation.set_requests.emplace_back(chip.count_name, "2");
    }
    mutation.warnings.push_back(fmt::format("container {}: {}: 1 counts as 2, a whole module",
                                            container.name, chip.count_name));
    return {};
  }
  if (count % 2 == 0) return {};
  return fail(Code::kInvalid, fmt::format("{} device request must be 1 or 2*n, got {}: write {}",
                                          chip.word, count, count + 1));
}

struct Memory {
  std::int64_t mib = 0;    ///< per card
  std::int64_t units = 0;  ///< the same as the resource counts it
};

Result<Memory> memory_of(const AscendChip& chip, const Vendor& vendor,
                         const k8s::Container& container, bool soft, ContainerMutation& mutation) {
  const auto in_units = [&](std::int64_t mib) {
    return mib <= 0 ? 0 : std::max<std::int64_t>(mib / chip.memory_factor, 1);
  };
  if (!in_limits(container, chip.memory_name)) {
    return Memory{chip.memory_allocatable, in_units(chip.memory_allocatable)};
  }
  const auto asked = memory_value(container, vendor);
  if (!asked) return tl::unexpected(asked.error());
  const std::int64_t units = asked->value_or(0);
  const std::int64_t mib = units * chip.memory_factor;
  if (soft) return Memory{mib, units};
  const AscendSlice slice = ascend_slice(chip, mib);
  if (slice.memory <= 0) {
    return fail(Code::kInvalid, fmt::format("{} {} is invalid: at most {}", chip.memory_name, units,
                                            chip.memory_capacity / chip.memory_factor));
  }
  const std::int64_t rounded = in_units(slice.memory);
  if (rounded != units) {
    mutation.warnings.push_back(fmt::format(
        "container {}: {}: {} counts as {} ({})", container.name, chip.memory_name, units, rounded,
        slice.name.empty() ? "the whole card" : fmt::format("template {}", slice.name)));
  }
  return Memory{slice.memory, rounded};
}

Status check_cores(const AscendChip& chip, const k8s::Container& container, bool soft) {
  const auto cores =
      whole_value(container, chip.core_name, std::numeric_limits<std::int32_t>::max());
  if (!cores) return tl::unexpected(cores.error());
  if (soft || cores->value_or(0) == 0) return {};
  return fail(Code::kInvalid,
              fmt::format("{} is only supported in hami-core (soft split) mode: set the annotation "
                          "{}: {} or leave it out",
                          chip.core_name, kAscendModeKey, kAscendSoftMode));
}

}  // namespace

AscendSlice ascend_slice(const AscendChip& chip, std::int64_t memory) {
  for (const AscendTemplate& t : chip.templates) {
    if (memory <= t.memory) return {t.memory, t.name};
  }
  if (memory <= chip.memory_capacity) return {chip.memory_allocatable, {}};
  return {};
}

bool ascend_soft(const k8s::Pod& pod) {
  const std::string* mode = k8s::find(pod.annotations, kAscendModeKey);
  return mode != nullptr && *mode == kAscendSoftMode;
}

Result<ContainerMutation> ascend_mutate(const AscendSection& section, const AscendChip& chip,
                                        const Vendor& vendor, const k8s::Pod& pod,
                                        const k8s::Container& container) {
  ContainerMutation mutation;
  hide(section, chip, container, mutation);
  // Numbers that are bad are told even where they change nothing.
  if (const auto checked = mutate_container(vendor, container); !checked) return checked;
  if (!asks_in_limits(chip, container)) return mutation;
  const auto count =
      whole_value(container, chip.count_name, std::numeric_limits<std::int32_t>::max());
  if (!count) return tl::unexpected(count.error());
  const std::int64_t cards = count->value_or(0);
  if (const Status ok = round_count(chip, container, cards, mutation); !ok) {
    return tl::unexpected(ok.error());
  }
  const bool soft = ascend_soft(pod);
  if (const Status ok = check_cores(chip, container, soft); !ok) return tl::unexpected(ok.error());
  const auto memory = memory_of(chip, vendor, container, soft, mutation);
  if (!memory) return tl::unexpected(memory.error());
  if (cards > 1 && !soft && memory->mib != chip.memory_allocatable) {
    return fail(Code::kInvalid,
                fmt::format("vNPU not supported for multiple devices: ask 1 of {} or leave {} out",
                            chip.count_name, chip.memory_name));
  }
  mutation.uses_device = true;
  if (chip.memory_name.empty()) return mutation;
  mutation.set_limits.emplace_back(chip.memory_name, std::to_string(memory->units));
  mutation.set_requests.emplace_back(chip.memory_name, std::to_string(memory->units));
  return mutation;
}

}  // namespace tessera::vendors
