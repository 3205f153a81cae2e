#include "vendors/codec.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "base/text.h"
#include "json/reader.h"
#include "json/writer.h"
#include "vendors/mig_codec.h"
#include "vendors/seen_ids.h"

namespace tessera::vendors {
namespace {

using core::Device;

constexpr std::string_view kDefaultMode = "hami-core";
constexpr std::string_view kInstanceMode = "mig";  ///< the card is shared by instances only

/// Reads one decimal field and puts the format's own prefix before the parser's words.
Result<std::int64_t> field(std::string_view text, std::string_view prefix, int bits,
                           std::string_view parser) {
  auto value = text::parse_int(text, bits, parser);
  if (!value) return fail(Code::kInvalid, fmt::format("{}{}", prefix, value.error().what));
  return *value;
}

/// The cards of a node are alike: a text that the card before has too is not made anew.
SharedText text_beside(const SharedText& before, std::string_view text) {
  return before == text ? before : SharedText(text);
}

/// `before`: the card before, or one without texts.
Result<Device> text_segment(std::string_view segment, VendorId vendor, const Device& before) {
  if (segment.find(',') == std::string_view::npos) {
    return fail(Code::kInvalid,
                fmt::format("malformed node annotation segment: {}", text::quote(segment)));
  }
  const auto fields = text::split(segment, ',');
  if (fields.size() != 7 && fields.size() != 9) {
    return fail(Code::kInvalid,
                fmt::format("unexpected field count {} in node annotation", fields.size()));
  }
  Device device;
  device.vendor = vendor;
  device.id = fields[0];
  device.model = text_beside(before.model, fields[4]);
  device.mode = text_beside(before.mode, kDefaultMode);
  const auto count = field(fields[1], "invalid count field: ", 32, "strconv.ParseInt");
  if (!count) return tl::unexpected(count.error());
  const auto memory = field(fields[2], "invalid memory field: ", 32, "strconv.ParseInt");
  if (!memory) return tl::unexpected(memory.error());
  const auto cores = field(fields[3], "invalid core field: ", 32, "strconv.ParseInt");
  if (!cores) return tl::unexpected(cores.error());
  const auto health = text::parse_bool(fields[6]);
  if (!health) return fail(Code::kInvalid, "invalid health field: " + health.error().what);
  const auto numa = field(fields[5], "invalid numa field: ", 64, "strconv.Atoi");
  if (!numa) return tl::unexpected(numa.error());
  device.slots = *count;
  device.memory = {*memory};
  device.cores = {*cores};
  device.healthy = *health;
  device.numa = *numa;
  if (fields.size() == 9) {
    const auto index = field(fields[7], "invalid index field: ", 64, "strconv.Atoi");
    if (!index) return tl::unexpected(index.error());
    if (*index < 0) {
      return fail(Code::kInvalid, fmt::format("index field must not be negative: {}", *index));
    }
    if (*index > std::numeric_limits<std::uint32_t>::max()) {
      return fail(Code::kInvalid, fmt::format("invalid index field: {} is too large", *index));
    }
    device.index = static_cast<std::uint32_t>(*index);
    device.mode = text_beside(before.mode, fields[8]);
  }
  // The text form has no room for profiles: nothing fits until the agent registers anew.
  if (device.mode == kInstanceMode) device.mig = std::make_shared<const core::MigProfiles>();
  return device;
}

/// What no agent may register, whatever the form: the books would be wrong from the first pod on.
Status check_devices(const std::vector<Device>& devices) {
  SeenIds ids;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& d = devices[i];
    const auto bad = [&](std::string_view what) {
      return fail(Code::kInvalid, fmt::format("device {} ({}): {}", i, text::quote(d.id), what));
    };
    if (d.id.empty()) return bad("empty id");
    if (d.id.find_first_of(",:;") != std::string::npos) return bad("id contains one of , : ;");
    if (d.slots < 0) return bad(fmt::format("count must not be negative: {}", d.slots));
    if (d.memory.v < 0) return bad(fmt::format("devmem must not be negative: {}", d.memory.v));
    if (d.cores.v < 0) return bad(fmt::format("devcore must not be negative: {}", d.cores.v));
    if (ids.has(d.id)) return bad("duplicate id");
    ids.add(d.id);
  }
  return {};
}

struct JsonTarget {
  std::string_view key;
  enum class Type : std::uint8_t { kString, kInt32, kIndex, kInt64, kBool } type;
  void (*set_number)(Device&, std::int64_t);
  void (*set_string)(Device&, std::string_view, const Device& before);
};

using Type = JsonTarget::Type;
constexpr JsonTarget kJsonTargets[] = {
    {"id", Type::kString, nullptr, [](Device& d, std::string_view v, const Device&) { d.id = v; }},
    {"index", Type::kIndex,
     [](Device& d, std::int64_t v) { d.index = static_cast<std::uint32_t>(v); }, nullptr},
    {"count", Type::kInt32, [](Device& d, std::int64_t v) { d.slots = v; }, nullptr},
    {"devmem", Type::kInt32, [](Device& d, std::int64_t v) { d.memory = {v}; }, nullptr},
    {"devcore", Type::kInt32, [](Device& d, std::int64_t v) { d.cores = {v}; }, nullptr},
    {"type", Type::kString, nullptr,
     [](Device& d, std::string_view v, const Device& before) {
       d.model = text_beside(before.model, v);
     }},
    {"numa", Type::kInt64, [](Device& d, std::int64_t v) { d.numa = v; }, nullptr},
    {"mode", Type::kString, nullptr,
     [](Device& d, std::string_view v, const Device& before) {
       d.mode = text_beside(before.mode, v);
     }},
    {"health", Type::kBool, [](Device& d, std::int64_t v) { d.healthy = v != 0; }, nullptr},
};

constexpr std::string_view kCustomKey = "custominfo";
constexpr std::string_view kGroupKey = "NetworkID";

/// The link group; a value that is no number names none. Empty text = taken; else what is wrong.
std::string set_group(Device& device, json::Value custom) {
  if (custom.is_null_or_missing()) return {};
  if (custom.kind() != json::Kind::kObject) {
    return fmt::format("{}: {} is not an object", kCustomKey, custom.dump());
  }
  const json::Value group = custom[kGroupKey];
  constexpr double kBound = 9e18;  // what surely fits into 64 bits
  if (const auto whole = group.integer()) {
    device.group = *whole;
  } else if (const auto number = group.number(); number && std::abs(*number) < kBound) {
    device.group = static_cast<std::int64_t>(*number);
  }
  return {};
}

const JsonTarget* target_of(std::string_view key) {
  for (const JsonTarget& t : kJsonTargets)
    if (t.key == key) return &t;
  for (const JsonTarget& t : kJsonTargets)
    if (text::equals_ignoring_case(t.key, key)) return &t;
  return nullptr;
}

bool in_range(Type type, std::int64_t v) {
  if (type == Type::kInt32) {
    return v >= std::numeric_limits<std::int32_t>::min() &&
           v <= std::numeric_limits<std::int32_t>::max();
  }
  return type != Type::kIndex || (v >= 0 && v <= std::numeric_limits<std::uint32_t>::max());
}

/// Empty text = taken; else what is wrong.
std::string set_member(Device& device, const JsonTarget& target, json::Value value,
                       const Device& before) {
  if (value.kind() == json::Kind::kNull) return {};  // as if the key were not there
  if (target.type == Type::kString) {
    const auto s = value.string();
    if (!s) return fmt::format("{}: {} is not a string", target.key, value.dump());
    target.set_string(device, *s, before);
    return {};
  }
  if (target.type == Type::kBool) {
    const auto b = value.boolean();
    if (!b) return fmt::format("{}: {} is not true or false", target.key, value.dump());
    target.set_number(device, *b ? 1 : 0);
    return {};
  }
  const auto n = value.integer();
  if (!n) return fmt::format("{}: {} is not an integer", target.key, value.dump());
  if (!in_range(target.type, *n)) return fmt::format("{}: {} is out of range", target.key, *n);
  target.set_number(device, *n);
  return {};
}

Result<Device> json_element(json::Value element, VendorId vendor, std::size_t position,
                            const Device& before) {
  if (element.kind() != json::Kind::kObject) {
    return fail(Code::kInvalid,
                fmt::format("device {}: {} is not an object", position, element.dump()));
  }
  Device device;
  device.vendor = vendor;
  std::string problem;
  json::Value profiles;
  // Document order, so that of two spellings of one key the later one counts.
  element.for_each_member([&](std::string_view key, json::Value value) {
    if (text::equals_ignoring_case(key, "migProfiles")) profiles = value;
    if (problem.empty() && text::equals_ignoring_case(key, kCustomKey)) {
      problem = set_group(device, value);
    }
    const JsonTarget* target = target_of(key);
    if (target == nullptr || !problem.empty()) return;
    problem = set_member(device, *target, value, before);
  });
  if (!problem.empty()) {
    return fail(Code::kInvalid, fmt::format("device {}: {}", position, problem));
  }
  auto mig = decode_mig_profiles(profiles);
  if (!mig) return fail(Code::kInvalid, fmt::format("device {}: {}", position, mig.error().what));
  if (device.mode == kInstanceMode) {
    device.mig = std::make_shared<const core::MigProfiles>(std::move(*mig));
  }
  return device;
}

const Device& last_of(const std::vector<Device>& devices) {
  static const Device none;
  return devices.empty() ? none : devices.back();
}

Result<std::vector<DeviceText>> container_value(std::string_view text) {
  std::vector<DeviceText> devices;
  for (const std::string_view segment : text::split(text, ':')) {
    if (segment.find(',') == std::string_view::npos) continue;
    const auto fields = text::split(segment, ',');
    if (fields.size() < 4) {
      return fail(Code::kInvalid,
                  "pod annotation format error, missing fields, do not use nodeName in task spec");
    }
    const auto memory = field(fields[2], "invalid memory field: ", 32, "strconv.ParseInt");
    if (!memory) return tl::unexpected(memory.error());
    const auto cores = field(fields[3], "invalid core field: ", 32, "strconv.ParseInt");
    if (!cores) return tl::unexpected(cores.error());
    devices.push_back({std::string(fields[0]), std::string(fields[1]), *memory, *cores});
  }
  return devices;
}

}  // namespace

Result<std::vector<Device>> decode_register(std::string_view text, VendorId vendor) {
  json::Parser parser;
  return decode_register(text, vendor, parser);
}

Result<std::vector<Device>> decode_register(std::string_view text, VendorId vendor,
                                            json::Parser& parser) {
  const std::string_view trimmed = text::trim(text);
  const bool json =
      !trimmed.empty() && (trimmed.front() == '[' || trimmed.front() == '{' || trimmed == "null");
  return json ? decode_register_json(text, vendor, parser) : decode_register_text(text, vendor);
}

Result<std::vector<Device>> decode_register_json(std::string_view text, VendorId vendor,
                                                 json::Parser& parser) {
  const auto document = parser.parse(text);
  if (!document) return tl::unexpected(document.error());
  std::vector<Device> devices;
  if (document->kind() == json::Kind::kNull) return devices;
  if (document->kind() != json::Kind::kArray) {
    return fail(Code::kInvalid, "the list of devices is not an array");
  }
  devices.reserve(document->size());
  std::optional<Error> error;
  document->for_each_element([&](json::Value element) {
    if (error) return;
    auto device = json_element(element, vendor, devices.size(), last_of(devices));
    if (!device) {
      error = device.error();
      return;
    }
    devices.push_back(std::move(*device));
  });
  if (error) return tl::unexpected(*error);
  if (const Status ok = check_devices(devices); !ok) return tl::unexpected(ok.error());
  return devices;
}

Result<std::vector<Device>> decode_register_text(std::string_view text, VendorId vendor) {
  if (text.find(':') == std::string_view::npos) {
    return fail(Code::kInvalid, "node annotation missing device separator");
  }
  std::vector<Device> devices;
  for (const std::string_view segment : text::split(text, ':')) {
    if (segment.empty()) continue;
    auto device = text_segment(segment, vendor, last_of(devices));
    if (!device) return tl::unexpected(device.error());
    devices.push_back(std::move(*device));
  }
  if (const Status ok = check_devices(devices); !ok) return tl::unexpected(ok.error());
  return devices;
}

std::string encode_register_json(const std::vector<Device>& devices) {
  json::Writer w;
  const auto number = [&w](std::string_view key, std::int64_t v) {
    if (v != 0) w.key(key).integer(v);
  };
  const auto string = [&w](std::string_view key, std::string_view v) {
    if (!v.empty()) w.key(key).string(v);
  };
  w.begin_array();
  for (const Device& d : devices) {
    w.begin_object();
    string("id", d.id);
    number("index", d.index);
    number("count", d.slots);
    number("devmem", d.memory.v);
    number("devcore", d.cores.v);
    string("type", d.model);
    number("numa", d.numa);
    string("mode", d.mode);
    if (d.group != Device::kNoGroup) {
      w.key(kCustomKey).begin_object().key(kGroupKey).integer(d.group).end_object();
    }
    if (d.mig && !d.mig->empty()) {
      w.key("migProfiles");
      encode_mig_profiles(*d.mig, w);
    }
    if (d.healthy) w.key("health").boolean(true);
    w.end_object();
  }
  w.end_array();
  return std::move(w).take();
}

std::string encode_register_text(const std::vector<Device>& devices) {
  std::string out;
  for (const Device& d : devices) {
    out += fmt::format("{},{},{},{},{},{},{},{},{}:", d.id, d.slots, d.memory.v, d.cores.v, d.model,
                       d.numa, d.healthy, d.index, d.mode);
  }
  return out;
}

Result<std::vector<std::vector<DeviceText>>> decode_pod_devices(std::string_view text) {
  std::vector<std::vector<DeviceText>> positions;
  for (const std::string_view piece : text::split(text, ';')) {
    auto devices = container_value(piece);
    if (!devices) return tl::unexpected(devices.error());
    positions.push_back(std::move(*devices));
  }
  return positions;
}

std::string encode_pod_devices(const std::vector<std::vector<DeviceText>>& positions) {
  std::string out;
  for (const auto& devices : positions) {
    for (const DeviceText& d : devices) {
      out += fmt::format("{},{},{},{}:", d.id, d.type, d.memory, d.cores);
    }
    out += ';';
  }
  return out;
}

}  // namespace tessera::vendors
