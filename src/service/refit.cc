#include "service/refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::service {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Status read_text(json::Value object, std::string_view key, std::string& into) {
  const json::Value value = object[key];
  if (value.is_null_or_missing()) return {};
  const auto text = value.string();
  if (!text) return fail(Code::kInvalid, fmt::format("{}: expected a text", key));
  into = *text;
  return {};
}

Status read_ids(json::Value object, std::string_view key, std::vector<std::string>& into) {
  const json::Value list = object[key];
  if (list.is_null_or_missing()) return {};
  if (list.kind() != json::Kind::kArray || list.size() == 0)
    return fail(Code::kInvalid, fmt::format("{}: expected an array with device ids", key));
  Status status;
  list.for_each_element([&](json::Value id) {
    if (id.string_or("").empty() && status)
      status = fail(Code::kInvalid, fmt::format("{}: {} is not a device id", key, id.dump()));
    into.emplace_back(id.string_or(""));
  });
  return status;
}

Status read_numa(json::Value object, std::optional<std::int64_t>& into) {
  const json::Value value = object["numa"];
  if (value.is_null_or_missing()) return {};
  into = value.integer();
  if (into) return {};
  return fail(Code::kInvalid, fmt::format("numa: {} is not a whole number", value.dump()));
}

Status complete(const RefitOrder& order) {
  const auto missing = [](const char* what) -> Status {
    return fail(Code::kInvalid, std::string(what) + ": missing");
  };
  if (order.uid.empty() && order.name.empty()) return missing("name or uid");
  if (order.node.empty()) return missing("node");
  const RefitLimits& limits = order.limits;
  if (!limits.numa && limits.devices.empty() && limits.exclude.empty())
    return missing("numa, devices or exclude");
  return {};
}

Status check_ids(const core::NodeSpec& node, const std::vector<std::string>& ids,
                 std::string_view key) {
  for (const std::string& id : ids) {
    const bool known = std::any_of(node.devices.begin(), node.devices.end(),
                                   [&](const core::Device& d) { return d.id == id; });
    if (!known)
      return fail(Code::kInvalid,
                  fmt::format("{}: node {} has no device {}", key, node.name, text::quote(id)));
  }
  return {};
}

bool names_a_card_of(const core::NodeSpec& node, const std::vector<std::string>& ids,
                     VendorId vendor) {
  return std::any_of(node.devices.begin(), node.devices.end(), [&](const core::Device& d) {
    return d.vendor == vendor && contains(ids, d.id);
  });
}

}  // namespace

Result<RefitOrder> read_refit(std::string_view body) {
  json::Parser parser;
  const Result<json::Value> object = parser.parse(body);
  if (!object) return fail(Code::kInvalid, "the body is not JSON: " + object.error().what);
  if (object->kind() != json::Kind::kObject)
    return fail(Code::kInvalid, "the body is not a JSON object");
  RefitOrder order;
  for (const Status& status :
       {read_text(*object, "namespace", order.ns), read_text(*object, "name", order.name),
        read_text(*object, "uid", order.uid), read_text(*object, "node", order.node),
        read_numa(*object, order.limits.numa), read_ids(*object, "devices", order.limits.devices),
        read_ids(*object, "exclude", order.limits.exclude)}) {
    if (!status) return tl::unexpected(status.error());
  }
  if (const Status whole = complete(order); !whole) return tl::unexpected(whole.error());
  if (order.ns.empty()) order.ns = "default";
  return order;
}

Result<AllowedCards> AllowedCards::of(const core::NodeSpec& node, const RefitLimits& limits) {
  if (Status s = check_ids(node, limits.devices, "devices"); !s) return tl::unexpected(s.error());
  if (Status s = check_ids(node, limits.exclude, "exclude"); !s) return tl::unexpected(s.error());
  const auto on_numa = [&](const core::Device& d) {
    return !limits.numa || d.numa == *limits.numa;
  };
  if (std::none_of(node.devices.begin(), node.devices.end(), on_numa)) {
    return fail(Code::kInvalid, fmt::format("numa: node {} has no card on NUMA node {}", node.name,
                                            limits.numa.value_or(0)));
  }
  AllowedCards allowed;
  for (const core::Device& device : node.devices) {
    const bool named = contains(limits.devices, device.id) ||
                       !names_a_card_of(node, limits.devices, device.vendor);
    if (on_numa(device) && named && !contains(limits.exclude, device.id))
      allowed.cards_.push_back({device.vendor, device.id});
  }
  return allowed;
}

bool AllowedCards::allows(const core::Grant& grant) const {
  return std::any_of(cards_.begin(), cards_.end(), [&](const Card& card) {
    return card.vendor == grant.vendor && card.id == grant.device;
  });
}

bool AllowedCards::allows(const core::Allocation& allocation) const {
  return std::all_of(allocation.grants.begin(), allocation.grants.end(),
                     [&](const core::Grant& grant) { return allows(grant); });
}

std::vector<std::string> AllowedCards::ids_of(VendorId vendor) const {
  std::vector<std::string> ids;
  for (const Card& card : cards_) {
    if (card.vendor == vendor) ids.push_back(card.id);
  }
  return ids;
}

Result<core::Request> AllowedCards::narrow(core::Request request) const {
  for (const core::Position& position : request.positions) {
    for (const core::DeviceAsk& ask : position.asks) {
      if (ask.count <= 0) continue;
      auto own = std::find_if(request.constraints.begin(), request.constraints.end(),
                              [&](const core::Constraints& c) { return c.vendor == ask.vendor; });
      if (own == request.constraints.end()) {
        core::Constraints fresh;
        fresh.vendor = ask.vendor;
        own = request.constraints.insert(request.constraints.end(), std::move(fresh));
      }
      std::vector<std::string> ids = ids_of(ask.vendor);
      if (!own->use_ids.empty()) {
        std::erase_if(ids, [&](const std::string& id) { return !contains(own->use_ids, id); });
      }
      // An empty list would mean: any card.
      if (ids.empty())
        return fail(Code::kConflict, "no card that the pod may have is within the limits given");
      own->use_ids = std::move(ids);
    }
  }
  return request;
}

}  // namespace tessera::service
