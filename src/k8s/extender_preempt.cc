#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/writer.h"
#include "k8s/decode.h"
#include "k8s/extender.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

/// A victim is a whole pod or {"UID": …}, by the form.
Result<std::string> victim_uid(json::Value victim, bool full, const std::string& path) {
  const json::Value uid = full ? victim["metadata"]["uid"] : victim.find_ignoring_case("UID");
  const auto text = uid.string();
  if (text && !text->empty()) return std::string(*text);
  const std::string field = path + (full ? ".metadata.uid" : ".UID");
  if (text || uid.is_null_or_missing()) return fail(Code::kInvalid, field + ": is empty");
  return tl::unexpected(wrong_kind(field, "a string", uid));
}

Result<VictimsOfNode> read_victims(std::string_view node, json::Value value, bool full,
                                   const std::string& path) {
  VictimsOfNode out{.node = std::string(node), .uids = {}, .budget_violations = 0};
  if (value.is_null_or_missing()) return out;
  if (value.kind() != json::Kind::kObject)
    return tl::unexpected(wrong_kind(path, "an object", value));
  const json::Value violations = value.find_ignoring_case("NumPDBViolations");
  if (!violations.is_null_or_missing()) {
    const auto number = violations.integer();
    if (!number)
      return tl::unexpected(wrong_kind(path + ".NumPDBViolations", "a whole number", violations));
    out.budget_violations = *number;
  }
  const json::Value pods = value.find_ignoring_case("Pods");
  if (pods.is_null_or_missing()) return out;
  if (pods.kind() != json::Kind::kArray)
    return tl::unexpected(wrong_kind(path + ".Pods", "an array", pods));
  Status status;
  std::size_t index = 0;
  pods.for_each_element([&](json::Value pod) {
    auto uid = victim_uid(pod, full, fmt::format("{}.Pods[{}]", path, index++));
    if (!uid) {
      if (status) status = tl::unexpected(std::move(uid.error()));
    } else if (std::find(out.uids.begin(), out.uids.end(), *uid) == out.uids.end()) {
      out.uids.push_back(std::move(*uid));
    }
  });
  if (!status) return tl::unexpected(std::move(status.error()));
  return out;
}

/// Of two members with one name the last counts, as for Go's maps.
void put(std::vector<VictimsOfNode>& nodes, VictimsOfNode next) {
  const auto same = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const VictimsOfNode& n) { return n.node == next.node; });
  if (same != nodes.end())
    *same = std::move(next);
  else
    nodes.push_back(std::move(next));
}

Status read_nodes(json::Value map, bool full, const char* field, PreemptArgs& args) {
  if (map.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind(field, "an object", map));
  }
  Status status;
  map.for_each_member([&](std::string_view node, json::Value value) {
    auto victims = read_victims(node, value, full, fmt::format("{}[\"{}\"]", field, node));
    if (victims)
      put(args.nodes, std::move(*victims));
    else if (status)
      status = tl::unexpected(std::move(victims.error()));
  });
  return status;
}

}  // namespace

Result<PreemptArgs> decode_preempt_args(json::Parser& parser, std::string_view body,
                                        const Keep& keep) {
  const auto root = parser.parse(body);
  if (!root) return tl::unexpected(root.error());
  if (root->kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("preemption args", "an object", *root));
  }
  const json::Value pod_value = root->find_ignoring_case("Pod");
  if (pod_value.is_null_or_missing()) return fail(Code::kInvalid, "preemption args missing pod");
  PreemptArgs args;
  auto pod = decode_pod(pod_value, keep);
  if (!pod) return fail(Code::kInvalid, "Pod: " + pod.error().what);
  args.pod = std::move(*pod);
  const json::Value full = root->find_ignoring_case("NodeNameToVictims");
  const json::Value meta = root->find_ignoring_case("NodeNameToMetaVictims");
  Status status;
  if (!full.is_null_or_missing())
    status = read_nodes(full, true, "NodeNameToVictims", args);
  else if (!meta.is_null_or_missing())
    status = read_nodes(meta, false, "NodeNameToMetaVictims", args);
  if (!status) return tl::unexpected(std::move(status.error()));
  return args;
}

std::string encode_preempt_result(const std::vector<VictimsOfNode>& nodes) {
  json::Writer w;
  w.begin_object().key("NodeNameToMetaVictims").begin_object();
  for (const VictimsOfNode& victims : nodes) {
    w.key(victims.node).begin_object().key("Pods").begin_array();
    for (const std::string& uid : victims.uids)
      w.begin_object().key("UID").string(uid).end_object();
    w.end_array().key("NumPDBViolations").integer(victims.budget_violations).end_object();
  }
  w.end_object().end_object();
  return std::move(w).take();
}

}  // namespace tessera::k8s
