#include "vendors/mig_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"

namespace tessera::vendors {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
/// No card has so many; more would only make every decision slow (N-7).
constexpr std::size_t kMaxProfiles = 64;
constexpr std::size_t kMaxPlacements = 64;

/// A whole number from 0 to max; missing and null are 0.
Result<std::int64_t> count_at(json::Value object, std::string_view key,
                              std::int64_t max = kInt32Max) {
  const json::Value value = object.find_ignoring_case(key);
  if (value.is_null_or_missing()) return 0;
  const auto number = value.integer();
  if (!number || *number < 0 || *number > max) {
    return fail(Code::kInvalid,
                fmt::format("{}: {} is not a whole number from 0 to {}", key, value.dump(), max));
  }
  return *number;
}

Result<std::string> text_at(json::Value object, std::string_view key) {
  const json::Value value = object.find_ignoring_case(key);
  if (value.is_null_or_missing()) return std::string();
  const auto text = value.string();
  if (!text) return fail(Code::kInvalid, fmt::format("{}: {} is not a text", key, value.dump()));
  return std::string(*text);
}

/// Size 0 is left to the caller: what it means depends on the list.
Result<core::MigPlacement> placement_of(json::Value value) {
  if (value.is_null_or_missing()) return core::MigPlacement{};
  if (value.kind() != json::Kind::kObject) {
    return fail(Code::kInvalid, fmt::format("placement: {} is not an object", value.dump()));
  }
  const auto start = count_at(value, "start");
  if (!start) return tl::unexpected(start.error());
  const auto size = count_at(value, "size");
  if (!size) return tl::unexpected(size.error());
  return core::MigPlacement{static_cast<std::uint32_t>(*start), static_cast<std::uint32_t>(*size)};
}

/// f(element, index) gives a Status; the first error ends the list.
template <class F>
Status for_each(json::Value list, std::string_view what, std::size_t max, F&& f) {
  if (list.is_null_or_missing()) return {};
  if (list.kind() != json::Kind::kArray) {
    return fail(Code::kInvalid, fmt::format("{}: {} is not a list", what, list.dump()));
  }
  if (list.size() > max) {
    return fail(Code::kInvalid, fmt::format("{}: {} elements, at most {}", what, list.size(), max));
  }
  Status status;
  std::size_t index = 0;
  list.for_each_element([&](json::Value element) {
    if (!status) return;
    status = element.kind() == json::Kind::kObject
                 ? f(element, index)
                 : fail(Code::kInvalid,
                        fmt::format("{}[{}]: {} is not an object", what, index, element.dump()));
    ++index;
  });
  return status;
}

Result<core::MigProfile> profile_of(json::Value element) {
  core::MigProfile profile;
  auto name = text_at(element, "name");
  if (!name) return tl::unexpected(name.error());
  if (name->empty()) return fail(Code::kInvalid, "name is empty");
  profile.name = std::move(*name);
  const auto memory = count_at(element, "memoryMB");
  if (!memory) return tl::unexpected(memory.error());
  const auto cores = count_at(element, "core");
  if (!cores) return tl::unexpected(cores.error());
  const auto slices = count_at(element, "sliceCount");
  if (!slices) return tl::unexpected(slices.error());
  profile.memory = {*memory};
  profile.cores = {*cores};
  profile.slices = *slices;
  const Status placements =
      for_each(element.find_ignoring_case("placements"), "placements", kMaxPlacements,
               [&](json::Value one, std::size_t index) -> Status {
                 const auto placement = placement_of(one);
                 if (!placement) return tl::unexpected(placement.error());
                 if (placement->size == 0) {
                   return fail(Code::kInvalid, fmt::format("placements[{}]: size is 0", index));
                 }
                 profile.placements.push_back(*placement);
                 return {};
               });
  if (!placements) return tl::unexpected(placements.error());
  return profile;
}

struct Identity {
  std::optional<core::MigInstance> complete;
  bool partial = false;
};

/// An instance id as text: agents write numbers, 0 is a valid one.
std::string id_text(json::Value value) {
  return value.is_null_or_missing() ? std::string() : std::string(value.string_or(value.dump()));
}

Identity identity_of(json::Value element) {
  core::MigInstance instance{std::string(element.find_ignoring_case("migUUID").string_or("")),
                             id_text(element.find_ignoring_case("gpuInstanceID")),
                             id_text(element.find_ignoring_case("computeInstanceID"))};
  int given = 0;
  for (const std::string* part :
       {&instance.uuid, &instance.gpu_instance, &instance.compute_instance}) {
    given += part->empty() ? 0 : 1;
  }
  Identity identity;
  identity.partial = given == 1 || given == 2;
  if (given == 3) identity.complete = std::move(instance);
  return identity;
}

/// A negative index is no wrong type: it makes the element incomplete.
Result<std::int64_t> index_at(json::Value element, std::string_view key) {
  const json::Value value = element.find_ignoring_case(key);
  if (value.is_null_or_missing()) return 0;
  const auto number = value.integer();
  if (!number || *number > kInt32Max) {
    return fail(Code::kInvalid, fmt::format("{}: {} is not a whole number", key, value.dump()));
  }
  return *number;
}

Result<MigReservationText> reservation_of(json::Value element, std::size_t index) {
  MigReservationText r;
  const auto container = index_at(element, "containerIndex");
  if (!container) return tl::unexpected(container.error());
  const auto device = index_at(element, "deviceIndex");
  if (!device) return tl::unexpected(device.error());
  auto card = text_at(element, "gpuUUID");
  if (!card) return tl::unexpected(card.error());
  auto profile = text_at(element, "profile");
  if (!profile) return tl::unexpected(profile.error());
  const auto placement = placement_of(element.find_ignoring_case("placement"));
  if (!placement) return tl::unexpected(placement.error());
  if (*container < 0 || *device < 0 || card->empty() || profile->empty() || placement->size == 0) {
    return fail(Code::kInvalid, fmt::format("MIG allocation {} is incomplete", index));
  }
  Identity identity = identity_of(element);
  if (identity.partial) {
    return fail(Code::kInvalid,
                fmt::format("MIG allocation {} has partial runtime identity", index));
  }
  return MigReservationText{*container,          *device,    std::move(*card),
                            std::move(*profile), *placement, std::move(identity.complete)};
}

}  // namespace

Result<core::MigProfiles> decode_mig_profiles(json::Value list) {
  core::MigProfiles profiles;
  const Status status = for_each(
      list, "migProfiles", kMaxProfiles, [&](json::Value one, std::size_t index) -> Status {
        auto profile = profile_of(one);
        if (!profile) {
          return fail(Code::kInvalid,
                      fmt::format("migProfiles[{}]: {}", index, profile.error().what));
        }
        // Where a name comes twice, agents mean the positions of the first.
        const auto same = std::find_if(profiles.begin(), profiles.end(),
                                       [&](const auto& p) { return p.name == profile->name; });
        if (same != profiles.end()) profile->placements = same->placements;
        profiles.push_back(std::move(*profile));
        return {};
      });
  if (!status) return tl::unexpected(status.error());
  return profiles;
}

void encode_mig_profiles(const core::MigProfiles& profiles, json::Writer& w) {
  w.begin_array();
  for (const core::MigProfile& p : profiles) {
    w.begin_object().key("name").string(p.name).key("memoryMB").integer(p.memory.v);
    w.key("core").integer(p.cores.v).key("sliceCount").integer(p.slices);
    w.key("placements").begin_array();
    for (const core::MigPlacement& at : p.placements) {
      w.begin_object().key("start").integer(at.start).key("size").integer(at.size).end_object();
    }
    w.end_array().end_object();
  }
  w.end_array();
}

Result<std::vector<MigReservationText>> decode_mig_reservations(std::string_view text) {
  std::vector<MigReservationText> list;
  if (text::trim(text).empty()) return list;
  json::Parser parser;
  const auto document = parser.parse(text);
  if (!document) return tl::unexpected(document.error());
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  const Status status =
      for_each(*document, "MIG allocations", std::numeric_limits<std::size_t>::max(),
               [&](json::Value element, std::size_t index) -> Status {
                 auto r = reservation_of(element, index);
                 if (!r) return tl::unexpected(r.error());
                 if (!seen.emplace(r->container, r->device).second) {
                   return fail(Code::kInvalid,
                               fmt::format("duplicate MIG allocation for container {} device {}",
                                           r->container, r->device));
                 }
                 list.push_back(std::move(*r));
                 return {};
               });
  if (!status) return tl::unexpected(status.error());
  return list;
}

std::string encode_mig_reservations(const std::vector<MigReservationText>& list) {
  json::Writer w;
  w.begin_array();
  for (const MigReservationText& r : list) {
    w.begin_object().key("containerIndex").integer(r.container);
    w.key("deviceIndex").integer(r.device).key("gpuUUID").string(r.card);
    w.key("profile").string(r.profile).key("placement").begin_object();
    w.key("start").integer(r.placement.start).key("size").integer(r.placement.size);
    w.end_object().end_object();
  }
  w.end_array();
  return std::move(w).take();
}

}  // namespace tessera::vendors
