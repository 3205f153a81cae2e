#include "service/preempt_note.h"

#include <utility>

#include "base/text.h"
#include "json/reader.h"
#include "json/writer.h"
#include "service/names.h"

namespace tessera::service {
namespace {

tl::unexpected<Error> wrong(std::string_view field, json::Value value) {
  std::string what = std::string(kPreemptionKey) + ": " + std::string(field) + ": ";
  what += value.missing() ? "is missing" : "cannot be " + value.dump();
  return fail(Code::kInvalid, std::move(what));
}

Result<PreemptionNote::Victim> read_victim(json::Value value) {
  const auto uid = value["uid"].string(), ns = value["ns"].string(), name = value["name"].string();
  const bool good =
      uid && ns && name && !uid->empty() && is_object_name(*ns) && is_object_name(*name);
  if (!good) return wrong("victims", value);
  return PreemptionNote::Victim{std::string(*uid), std::string(*ns), std::string(*name)};
}

}  // namespace

std::string encode_note(const PreemptionNote& note) {
  json::Writer w;
  w.begin_object().key("node").string(note.node);
  w.key("deadline").string(format_rfc3339(note.deadline));
  w.key("victims").begin_array();
  for (const PreemptionNote::Victim& victim : note.victims) {
    w.begin_object().key("uid").string(victim.uid).key("ns").string(victim.ns);
    w.key("name").string(victim.name).end_object();
  }
  w.end_array().key("devices").begin_object();
  for (const auto& [key, value] : note.devices) w.key(key).string(value);
  w.end_object().end_object();
  return std::move(w).take();
}

Result<PreemptionNote> decode_note(std::string_view text) {
  json::Parser parser;
  const auto root = parser.parse(text);
  if (!root)
    return fail(Code::kInvalid, std::string(kPreemptionKey) + ": " + root.error().what + ": " +
                                    text::quote(text.substr(0, 256)));
  PreemptionNote note;
  const auto node = (*root)["node"].string(), deadline = (*root)["deadline"].string();
  if (!node || !is_object_name(*node)) return wrong("node", (*root)["node"]);
  note.node = *node;
  const auto time = parse_rfc3339(deadline.value_or(""));
  if (!time) return wrong("deadline", (*root)["deadline"]);
  note.deadline = *time;
  Status status;
  (*root)["victims"].for_each_element([&](json::Value value) {
    auto victim = read_victim(value);
    if (victim)
      note.victims.push_back(std::move(*victim));
    else if (status)
      status = tl::unexpected(std::move(victim.error()));
  });
  (*root)["devices"].for_each_member([&](std::string_view key, json::Value value) {
    if (const auto device_text = value.string())
      note.devices.emplace_back(key, *device_text);
    else if (status)
      status = wrong("devices", value);
  });
  if (!status) return tl::unexpected(std::move(status.error()));
  if (note.victims.empty()) return wrong("victims", (*root)["victims"]);
  return note;
}

}  // namespace tessera::service
