#include "vendors/kunlun.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "vendors/ask.h"
#include "vendors/mutate.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostCards = 1024;  ///< no node has more
constexpr auto kIndexKey = "BAIDU_COM_DEVICE_IDX";

std::vector<IdKeys> id_keys() {
  return {{"hami.io/use-xpu-uuid", "hami.io/no-use-xpu-uuid"},
          {"baidu.com/use-gpuuuid", "baidu.com/nouse-gpuuuid"}};
}

/// "<node>-kunlun-<index>": what agents expect of a node that only counts its cards.
std::string card_id(const std::string& node, std::int64_t index) {
  return fmt::format("{}-kunlun-{}", node, index);
}

std::optional<std::uint32_t> index_of(std::string_view id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  id.remove_prefix(dash + 1);
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), index);
  if (id.empty() || error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return index;
}

Result<std::optional<std::vector<core::Device>>> counted_cards(const Vendor& vendor,
                                                               const k8s::Node& node, VendorId id) {
  const std::string* value = k8s::find(node.capacity, vendor.count_resource);
  if (value == nullptr) return std::nullopt;
  const auto quantity = Quantity::parse(*value);
  const auto count = quantity ? quantity->integer() : std::nullopt;
  if (!count || *count < 0 || *count > kMostCards) {
    return fail(Code::kInvalid,
                fmt::format("status.capacity[{}]: {} is not a number of cards from 0 to {}",
                            vendor.count_resource, text::quote(*value), kMostCards));
  }
  if (*count == 0) return std::nullopt;
  std::vector<core::Device> cards;
  for (std::int64_t i = 0; i < *count; ++i) {
    core::Device card;
    card.id = card_id(node.name, i);
    card.index = static_cast<std::uint32_t>(i);
    card.slots = 100;
    card.memory = {kKunlunCard};
    card.cores = {100};
    card.model = vendor.word;
    card.numa = i >= *count / 2 ? 1 : 0;
    card.healthy = true;
    card.vendor = id;
    cards.push_back(std::move(card));
  }
  return cards;
}

/// Cards are linked in ones, twos, fours and eights: other numbers never fit.
void warn_about_count(const Vendor& vendor, const k8s::Container& container,
                      std::vector<std::string>& warnings) {
  const auto count = whole_value(container, vendor.count_resource, kInt32Max);
  const std::int64_t cards = count ? count->value_or(0) : 0;
  if (cards == 0 || cards == 1 || cards == 2 || cards == 4 || cards == 8) return;
  warnings.push_back(fmt::format("container {}: {}: {} cards are never placed, ask 1, 2, 4 or 8",
                                 container.name, vendor.count_resource, cards));
}

Result<ContainerMutation> mutate_card(const Vendor& vendor, const k8s::Pod& /*pod*/,
                                      const k8s::Container& container) {
  auto mutation = mutate_container(vendor, container);
  if (mutation && mutation->uses_device) warn_about_count(vendor, container, mutation->warnings);
  return mutation;
}

Result<ContainerMutation> mutate_slice(const Vendor& vendor, const k8s::Pod& pod,
                                       const k8s::Container& container) {
  auto mutation = mutate_card(vendor, pod, container);
  if (!mutation || !mutation->uses_device || count_is_zero(container, vendor)) return mutation;
  if (!in_limits(container, vendor.memory_resource)) return mutation;
  const auto memory = memory_value(container, vendor);
  if (!memory) return tl::unexpected(memory.error());
  const std::int64_t slice = kunlun_slice(memory->value_or(0));
  const std::string text = std::to_string(slice);
  mutation->set_limits.emplace_back(vendor.memory_resource, text);
  mutation->set_requests.emplace_back(vendor.memory_resource, text);
  if (slice != memory->value_or(0)) {
    mutation->warnings.push_back(fmt::format("container {}: {}: {} counts as {}", container.name,
                                             vendor.memory_resource, memory->value_or(0), slice));
  }
  return mutation;
}

Result<std::optional<core::DeviceAsk>> ask_slice(const Vendor& vendor,
                                                 const k8s::Container& container, VendorId id,
                                                 std::vector<std::string>& warnings) {
  auto ask = device_ask(container, vendor, id, warnings);
  if (!ask || !*ask) return ask;
  core::DeviceAsk& slice = **ask;
  const auto memory = memory_value(container, vendor);
  const bool given = memory && memory->has_value();
  slice.memory = {given ? kunlun_slice(**memory) : kKunlunCard};
  slice.memory_percent = core::DeviceAsk::kNoPercent;
  slice.cores = {slice.memory.v * 100 / kKunlunCard};
  return ask;
}

/// The card numbers of one container: the last one's, as agents of this vendor read it.
void annotate_card(VendorId id, const core::Allocation& allocation, k8s::StringMap& out) {
  std::map<std::uint32_t, std::vector<std::string>> by_position;
  for (const core::Grant& grant : allocation.grants) {
    const auto index = index_of(grant.device);
    if (grant.vendor != id || !index) continue;
    by_position[grant.position].push_back(std::to_string(*index));
  }
  if (by_position.empty()) return;
  out.emplace_back(kIndexKey, text::join(by_position.rbegin()->second, ","));
}

}  // namespace

std::int64_t kunlun_slice(std::int64_t memory) {
  if (memory <= kKunlunCard / 4) return kKunlunCard / 4;
  return memory <= kKunlunCard / 2 ? kKunlunCard / 2 : kKunlunCard;
}

Vendor kunlun_card_vendor(const KunlunNames& names) {
  Vendor v;
  v.word = "kunlun";
  v.count_resource = names.count;
  v.default_cores = 100;
  v.allocated_key = "hami.io/kunlun-allocated";
  v.id_keys = id_keys();
  v.pod_keys = {kIndexKey};
  v.offered_by_capacity = true;
  v.locks_node = false;
  v.hooks = kunlun_card_hooks();
  v.rules.hooks = v.hooks.get();
  v.mutate = mutate_card;
  v.devices = counted_cards;
  v.annotate = [](const Vendor&, VendorId id, const core::Allocation& allocation, WallTime,
                  k8s::StringMap& out) { annotate_card(id, allocation, out); };
  return v;
}

Vendor kunlun_slice_vendor(const KunlunNames& names) {
  Vendor v;
  v.word = "XPU";
  v.count_resource = names.slice_count;
  v.memory_resource = names.slice_memory;
  v.register_key = "hami.io/node-register-xpu";
  v.handshake_key = "hami.io/node-handshake-xpu";
  v.to_allocate_key = "hami.io/xpu-devices-to-allocate";
  v.allocated_key = "hami.io/xpu-devices-allocated";
  v.id_keys = id_keys();
  v.rules.cores_count = false;  // the share of cores follows from the memory
  v.rules.whole_card_is_exclusive = false;
  v.rules.full_cores_close_card = false;
  v.hooks = kunlun_slice_hooks();
  v.rules.hooks = v.hooks.get();
  v.mutate = mutate_slice;
  v.ask = ask_slice;
  return v;
}

void read_kunlun_section(const SectionInput& input, std::vector<Vendor>& rows) {
  YamlReader& in = input.reader;
  KunlunNames names;
  in.members(input.node, input.path,
             [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
               const std::string here = yaml_path(input.path, key);
               if (key == "resourceCountName") return in.string(value, here, names.count);
               if (key == "resourceVCountName") return in.string(value, here, names.slice_count);
               if (key == "resourceVMemoryName") return in.string(value, here, names.slice_memory);
               in.note(at, here, "unknown key, ignored");
             });
  if (!names.count.empty()) rows.push_back(kunlun_card_vendor(names));
  if (!names.slice_count.empty()) rows.push_back(kunlun_slice_vendor(names));
}

std::string_view kunlun_default_text() {
  return R"(kunlun:
  # Whole cards.
  resourceCountName: kunlunxin.com/xpu
  # Slices of cards: how many, and MiB of each (a quarter, a half or all of 98304).
  resourceVCountName: kunlunxin.com/vxpu
  resourceVMemoryName: kunlunxin.com/vxpu-memory
)";
}

}  // namespace tessera::vendors
