#include "k8s/extender.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/writer.h"
#include "k8s/decode.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

using Reasons = std::vector<std::pair<std::string, std::string>>;

Status read_names(json::Value value, Candidates& args) {
  if (value.is_null_or_missing()) return {};
  if (value.kind() != json::Kind::kArray) {
    return tl::unexpected(wrong_kind("NodeNames", "an array", value));
  }
  Status status;
  args.has_names = true;
  value.for_each_element([&](json::Value element) {
    if (const auto name = element.string()) {
      args.names.push_back(*name);
    } else if (status) {
      status = tl::unexpected(
          wrong_kind(fmt::format("NodeNames[{}]", args.names.size()), "a string", element));
    }
  });
  return status;
}

Status read_nodes(json::Value value, std::string_view body, const Keep& keep, Candidates& args) {
  if (value.is_null_or_missing()) return {};
  if (value.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("Nodes", "an object", value));
  }
  const json::Value items = value.find_ignoring_case("items");
  if (!items.is_null_or_missing() && items.kind() != json::Kind::kArray) {
    return tl::unexpected(wrong_kind("Nodes.items", "an array", items));
  }
  Status status;
  args.has_nodes = true;
  items.for_each_element([&](json::Value element) {
    auto node = decode_node(element, keep);
    if (node) {
      args.nodes.push_back(std::move(*node));
    } else if (status) {
      status = fail(Code::kInvalid,
                    fmt::format("Nodes.items[{}]: {}", args.nodes.size(), node.error().what));
    }
  });
  if (!status) return status;
  auto raw = json::raw_elements(body, "Nodes", "items");
  if (!raw) return tl::unexpected(std::move(raw.error()));
  if (raw->size() != args.nodes.size()) {
    return fail(Code::kInternal,
                fmt::format("Nodes.items: {} texts for {} nodes", raw->size(), args.nodes.size()));
  }
  args.raw_nodes = std::move(*raw);
  return {};
}

Result<json::Value> outer_object(Result<json::Value> parsed, std::string_view what) {
  if (!parsed) return parsed;
  if (parsed->kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind(what, "an object", *parsed));
  }
  return parsed;
}

void write_reasons(json::Writer& out, Reasons reasons) {
  // Go writes maps by key order; of equal keys the last one would have stayed in the map.
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out.begin_object();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i + 1 < reasons.size() && reasons[i].first == reasons[i + 1].first) continue;
    out.key(reasons[i].first).string(reasons[i].second);
  }
  out.end_object();
}

void write_nodes(json::Writer& out, const FilterResult& result) {
  if (result.names_form || result.null_result) {
    out.null();
    return;
  }
  out.begin_object().key("metadata").begin_object().end_object().key("items").begin_array();
  for (std::string_view node : result.raw_nodes) out.raw(node);
  out.end_array().end_object();
}

void write_names(json::Writer& out, const FilterResult& result) {
  if ((!result.names_form && !result.names_too) || result.null_result) {
    out.null();
    return;
  }
  out.begin_array();
  for (std::string_view name : result.names) out.string(name);
  out.end_array();
}

std::string required(std::string_view field, json::Value args, Status& status) {
  const json::Value value = args.find_ignoring_case(field);
  if (const auto text = value.string(); text && !text->empty()) return std::string(*text);
  if (!status) return {};
  if (value.is_null_or_missing() || value.kind() == json::Kind::kString) {
    status = fail(Code::kInvalid, fmt::format("bind args missing {}", field));
  } else {
    status = tl::unexpected(wrong_kind(field, "a string", value));
  }
  return {};
}

std::string optional(std::string_view field, json::Value args, Status& status) {
  const json::Value value = args.find_ignoring_case(field);
  if (const auto text = value.string()) return std::string(*text);
  if (status && !value.is_null_or_missing()) {
    status = tl::unexpected(wrong_kind(field, "a string", value));
  }
  return {};
}

Status read_candidates(json::Value root, std::string_view body, const Keep& keep,
                       Candidates& args) {
  Status status = read_names(root.find_ignoring_case("NodeNames"), args);
  if (status) status = read_nodes(root.find_ignoring_case("Nodes"), body, keep, args);
  return status;
}

}  // namespace

Result<ExtenderArgs> decode_extender_args(json::Parser& parser, std::string&& body,
                                          std::string& body_storage, const Keep& keep) {
  body_storage = std::move(body);
  const auto root = outer_object(parser.parse_in_place(body_storage), "extender args");
  if (!root) return tl::unexpected(root.error());
  const json::Value pod_value = root->find_ignoring_case("Pod");
  if (pod_value.is_null_or_missing()) return fail(Code::kInvalid, "extender args missing pod");

  ExtenderArgs args;
  auto pod = decode_pod(pod_value, keep);
  if (!pod) return fail(Code::kInvalid, "Pod: " + pod.error().what);
  args.pod = std::move(*pod);
  const Status status = read_candidates(*root, body_storage, keep, args);
  if (!status) return tl::unexpected(status.error());
  return args;
}

Result<Candidates> decode_candidates(json::Parser& parser, std::string&& body,
                                     std::string& body_storage, const Keep& keep) {
  body_storage = std::move(body);
  auto parsed = parser.parse_in_place(body_storage);
  if (parsed && parsed->kind() == json::Kind::kNull) return Candidates{};  // as Go reads it
  const auto root = outer_object(std::move(parsed), "extender args");
  if (!root) return tl::unexpected(root.error());
  Candidates args;
  const Status status = read_candidates(*root, body_storage, keep, args);
  if (!status) return tl::unexpected(status.error());
  return args;
}

std::string encode_filter_result(const FilterResult& result) {
  std::size_t bytes = 128;
  for (std::string_view node : result.raw_nodes) bytes += node.size() + 1;
  json::Writer out;
  out.reserve(bytes);
  out.begin_object().key("Nodes");
  write_nodes(out, result);
  out.key("NodeNames");
  write_names(out, result);
  out.key("FailedNodes");
  if (result.failed_null) {
    out.null();
  } else {
    write_reasons(out, result.failed);
  }
  out.key("FailedAndUnresolvableNodes");
  if (result.unresolvable.empty()) {
    out.null();
  } else {
    write_reasons(out, result.unresolvable);
  }
  out.key("Error").string(result.error).end_object();
  return std::move(out).take();
}

std::string encode_filter_error(std::string_view error) {
  FilterResult result;
  result.null_result = true;
  result.failed_null = true;
  result.error = error;
  return encode_filter_result(result);
}

std::string encode_host_priorities(std::span<const std::string_view> hosts,
                                   std::span<const std::int64_t> scores) {
  constexpr std::size_t kAroundName = 24;  // {"Host":"","Score":10},
  std::size_t bytes = 2;
  for (const std::string_view host : hosts) bytes += host.size() + kAroundName;
  json::Writer out;
  out.reserve(bytes);
  out.begin_array();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    out.begin_object().key("Host").string(hosts[i]).key("Score").integer(scores[i]).end_object();
  }
  out.end_array();
  return std::move(out).take();
}

Result<BindArgs> decode_bind_args(json::Parser& parser, std::string_view body) {
  const auto root = outer_object(parser.parse(body), "bind args");
  if (!root) return tl::unexpected(root.error());
  Status status;
  BindArgs args;
  args.pod_name = required("PodName", *root, status);
  args.pod_namespace = optional("PodNamespace", *root, status);
  args.pod_uid = optional("PodUID", *root, status);
  args.node = required("Node", *root, status);
  if (!status) return tl::unexpected(std::move(status.error()));
  return args;
}

std::string encode_bind_result(std::string_view error) {
  json::Writer out;
  out.begin_object().key("Error").string(error).end_object();
  return std::move(out).take();
}

}  // namespace tessera::k8s
