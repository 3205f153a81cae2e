#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sim/api_patch.h"

namespace tessera::sim::api {
namespace {

struct MergeKey {
  std::string_view list, key;  ///< several keys: the first that the element carries
};
/// The lists of the core kinds that merge by a key. Taints and tolerations are not among them: they
/// are replaced as a whole.
constexpr auto kMergeKeys = std::to_array<MergeKey>({
    {"containers", "name"},
    {"initContainers", "name"},
    {"ephemeralContainers", "name"},
    {"env", "name"},
    {"volumes", "name"},
    {"volumeMounts", "mountPath"},
    {"volumeDevices", "devicePath"},
    {"ports", "containerPort,port"},
    {"conditions", "type"},
    {"addresses", "type"},
    {"imagePullSecrets", "name"},
    {"secrets", "name"},
    {"schedulingGates", "name"},
    {"hostAliases", "ip"},
    {"podIPs", "ip"},
    {"ownerReferences", "uid"},
    {"topologySpreadConstraints", "topologyKey"},
    {"resourceClaims", "name"},
    {"webhooks", "name"},
});
constexpr std::array<std::string_view, 2> kMergedSets = {"finalizers", "podCIDRs"};
constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrimitives = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

std::string_view merge_key(std::string_view list, const Value& element) {
  for (const MergeKey& row : kMergeKeys) {
    if (row.list != list) continue;
    const auto keys = text::split(row.key, ',');
    for (const std::string_view key : keys)
      if (element.has(key)) return key;
    return keys.front();
  }
  return {};
}

bool merges_by_key(std::string_view list) {
  return std::any_of(kMergeKeys.begin(), kMergeKeys.end(),
                     [&](const MergeKey& row) { return row.list == list; });
}

bool contains(const Value& list, const Value& wanted) {
  return std::find(list.items().begin(), list.items().end(), wanted) != list.items().end();
}

Value::Array::iterator find_element(Value& list, std::string_view key, const Value& wanted) {
  auto& items = list.items();
  return std::find_if(items.begin(), items.end(),
                      [&](const Value& item) { return item[key] == wanted; });
}

Status merge_element(Value& target, std::string_view list, const Value& element) {
  const std::string_view key = merge_key(list, element);
  if (!element.is_object() || !element.has(key))
    return fail(Code::kInvalid, fmt::format("{}: element {} does not contain the merge key {}",
                                            list, element.dump(), key));
  auto found = find_element(target, key, element[key]);
  if (element[kPatch].text() == "delete") {
    if (found != target.items().end()) target.items().erase(found);
    return {};
  }
  if (found != target.items().end()) return apply_strategic_patch(*found, element);
  Value added = Value::object();
  auto done = apply_strategic_patch(added, element);
  target.items().push_back(std::move(added));
  return done;
}

Status merge_list(Value& target, std::string_view list, const Value& patch) {
  const bool replace =
      std::any_of(patch.items().begin(), patch.items().end(),
                  [](const Value& element) { return element[kPatch].text() == "replace"; });
  if (replace || !target.is_array()) target = Value::array();
  for (const Value& element : patch.items()) {
    if (element[kPatch].text() == "replace") continue;
    if (auto done = merge_element(target, list, element); !done) return done;
  }
  return {};
}

void merge_set(Value& target, const Value& patch) {
  for (const Value& item : patch.items())
    if (!contains(target, item)) target.items().push_back(item);
}

/// Elements named in `order` come first, in that order; the others keep theirs behind them.
void set_order(Value& object, std::string_view list, const Value& order) {
  Value* target = object.find(list);
  if (target == nullptr || !target->is_array()) return;
  const auto rank = [&](const Value& item) {
    const std::string_view key = item.is_object() ? merge_key(list, item) : std::string_view();
    const auto& ranks = order.items();
    const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const Value& wanted) {
      return item.is_object() ? wanted[key] == item[key] : wanted == item;
    });
    return found - ranks.begin();
  };
  std::stable_sort(target->items().begin(), target->items().end(),
                   [&](const Value& a, const Value& b) { return rank(a) < rank(b); });
}

void retain_keys(Value& target, const Value& keys) {
  std::erase_if(target.members(),
                [&](const Value::Member& member) { return !contains(keys, Value(member.first)); });
}

void delete_primitives(Value& object, std::string_view list, const Value& items) {
  Value* target = object.find(list);
  if (target == nullptr || !target->is_array()) return;
  std::erase_if(target->items(), [&](const Value& item) { return contains(items, item); });
}

Status merge_member(Value& target, const std::string& key, const Value& value) {
  if (key.starts_with(kDeletePrimitives)) {
    delete_primitives(target, std::string_view(key).substr(kDeletePrimitives.size()), value);
    return {};
  }
  if (key.starts_with('$')) return {};
  if (value.is_null()) {
    target.erase(key);
    return {};
  }
  if (value.is_object()) {
    if (value[kPatch].text() == "delete") {
      target.erase(key);
      return {};
    }
    return apply_strategic_patch(target.make(key), value);
  }
  if (value.is_array() && merges_by_key(key)) return merge_list(target.make(key), key, value);
  const bool set = std::find(kMergedSets.begin(), kMergedSets.end(), key) != kMergedSets.end();
  if (value.is_array() && set)
    merge_set(target.make(key), value);
  else
    target.make(key) = value;
  return {};
}

}  // namespace

Status apply_strategic_patch(Value& target, const Value& patch) {
  if (patch[kPatch].text() == "replace") {
    target = patch;
    target.erase(kPatch);
    return {};
  }
  target.members();
  if (const Value* keys = patch.find(kRetainKeys)) retain_keys(target, *keys);
  for (const auto& [key, value] : patch.members())
    if (auto done = merge_member(target, key, value); !done) return done;
  for (const auto& [key, value] : patch.members())
    if (key.starts_with(kOrder))
      set_order(target, std::string_view(key).substr(kOrder.size()), value);
  return {};
}

}  // namespace tessera::sim::api
