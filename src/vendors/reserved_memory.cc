#include "vendors/reserved_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "vendors/annotations.h"

namespace tessera::vendors {
namespace {

struct Reserve {
  std::string_view device;  ///< "" = every card
  std::int64_t amount = 0;
  bool percent = false;
};

Result<Reserve> parse_entry(std::string_view entry) {
  Reserve reserve;
  std::string_view number = entry;
  if (const std::size_t equals = entry.rfind('='); equals != std::string_view::npos) {
    reserve.device = text::trim(entry.substr(0, equals));
    number = text::trim(entry.substr(equals + 1));
  }
  if (number.ends_with('%')) {
    reserve.percent = true;
    number.remove_suffix(1);
  }
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), reserve.amount);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (!whole || reserve.amount < 0 || (reserve.percent && reserve.amount > 100)) {
    return fail(Code::kInvalid, fmt::format("{}: {} is neither MiB nor a percentage up to 100%",
                                            kReservedMemoryKey, text::quote(entry)));
  }
  return reserve;
}

MiB kept_back(const Reserve& reserve, const core::Device& device) {
  if (reserve.percent) return core::memory_share(device, reserve.amount);
  return std::min(MiB{reserve.amount}, device.memory);
}

}  // namespace

Status reserve_memory(std::string_view text, std::vector<core::Device>& devices) {
  const std::vector<std::string> entries = comma_list(text);
  std::vector<Reserve> reserves;
  for (const std::string& entry : entries) {
    const auto reserve = parse_entry(entry);
    if (!reserve) return tl::unexpected(reserve.error());
    reserves.push_back(*reserve);
  }
  for (core::Device& device : devices) {
    const Reserve* chosen = nullptr;
    for (const Reserve& reserve : reserves) {
      if (reserve.device == device.id) chosen = &reserve;
      if (reserve.device.empty() && chosen == nullptr) chosen = &reserve;
    }
    if (chosen == nullptr || device.partitioned()) continue;
    device.memory = device.memory - kept_back(*chosen, device);
  }
  return {};
}

}  // namespace tessera::vendors
