#include "k8s/extender.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/writer.h"
#include "k8s/decode.h"
#include "k8s/extender_names.h"
#include "k8s/extender_nodes.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

constexpr std::size_t kSpareRoom = 64;  // simdjson reads past the end

using Reasons = std::vector<std::pair<std::string_view, std::string_view>>;

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

Result<json::Value> outer_object(Result<json::Value> parsed, std::string_view what) {
  if (!parsed) return parsed;
  if (parsed->kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind(what, "an object", *parsed));
  }
  return parsed;
}

void write_reasons(json::Writer& out, const Reasons& reasons) {
  // Go writes maps by key order; of equal keys the last one would have stayed in the map.
  std::vector<const Reasons::value_type*> order;
  order.reserve(reasons.size());
  for (const auto& reason : reasons) order.push_back(&reason);
  const auto by_name = [](const auto* a, const auto* b) { return a->first < b->first; };
  if (!std::is_sorted(order.begin(), order.end(), by_name))
    std::stable_sort(order.begin(), order.end(), by_name);
  out.begin_object();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && order[i]->first == order[i + 1]->first) continue;
    out.key(order[i]->first).string(order[i]->second);
  }
  out.end_object();
}

/// `put_items` writes what stands in the list.
template <class PutItems>
void write_nodes(json::Writer& out, const FilterResult& result, PutItems put_items) {
  if (result.names_form || result.null_result) {
    out.null();
    return;
  }
  out.begin_object().key("metadata").begin_object().end_object().key("items").begin_array();
  put_items();
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

std::size_t reasons_size(const FilterResult& result) {
  std::size_t bytes = 128;
  for (const Reasons* reasons : {&result.failed, &result.unresolvable}) {
    for (const auto& [node, reason] : *reasons) bytes += node.size() + reason.size() + 6;
  }
  return bytes;
}

template <class PutItems>
void write_result(json::Writer& out, const FilterResult& result, PutItems put_items) {
  out.begin_object().key("Nodes");
  write_nodes(out, result, put_items);
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
}

/// A node behind others; as a rule its comma stands before it where it lies, and often the node
/// before does too.
void add_node(std::string_view node, const char* body, std::vector<std::string_view>& pieces) {
  const bool has_comma = node.data() > body && node.data()[-1] == ',';
  if (!has_comma) {
    pieces.emplace_back(",");
  } else {
    node = {node.data() - 1, node.size() + 1};
  }
  std::string_view& last = pieces.back();
  if (last.data() + last.size() == node.data()) {
    last = {last.data(), last.size() + node.size()};
  } else {
    pieces.push_back(node);
  }
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

Status read_candidates(CallBody& call, std::string_view body, const NodeUse& use,
                       Candidates& args) {
  Status status = read_names(call.root.find_ignoring_case("NodeNames"), args);
  if (status) status = read_nodes(call, body, use, args);
  return status;
}

Status read_pod_member(json::Value pod, const Keep& keep, Pod& into) {
  const Status read = read_pod(pod, keep, into);
  return read ? read : fail(Code::kInvalid, "Pod: " + read.error().what);
}

Status expect_object(json::Value root) {
  if (root.kind() == json::Kind::kObject) return {};
  return tl::unexpected(wrong_kind("extender args", "an object", root));
}

}  // namespace

Status read_extender_args(json::Parser& parser, std::string&& body, std::string& body_storage,
                          const Keep& keep, ExtenderArgs& into, std::size_t whole_below,
                          NodeVisitor* visitor) {
  into.clear();
  body_storage = std::move(body);
  body_storage.reserve(body_storage.size() + kSpareRoom);  // there already, as a rule
  if (const auto pod = split_names_body(body_storage, into.names)) {
    const auto value = parser.parse_part(*pod, 1);
    if (value && value->kind() == json::Kind::kObject) {
      into.has_names = true;
      return read_pod_member(*value, keep, into.pod);
    }
    into.names.clear();  // the whole is not what it seemed: read it plainly
  }
  const NodeUse use{keep, visitor};
  auto call = read_call_body(parser, body_storage, use, whole_below);
  if (!call) return tl::unexpected(std::move(call.error()));
  if (auto status = expect_object(call->root); !status) return status;
  const json::Value pod_value = call->root.find_ignoring_case("Pod");
  if (pod_value.is_null_or_missing()) return fail(Code::kInvalid, "extender args missing pod");
  if (Status pod = read_pod_member(pod_value, keep, into.pod); !pod) return pod;
  return read_candidates(*call, body_storage, use, into);
}

Result<ExtenderArgs> decode_extender_args(json::Parser& parser, std::string&& body,
                                          std::string& body_storage, const Keep& keep,
                                          std::size_t whole_below) {
  ExtenderArgs args;
  Status read = read_extender_args(parser, std::move(body), body_storage, keep, args, whole_below);
  if (!read) return tl::unexpected(std::move(read.error()));
  return args;
}

Result<Candidates> decode_candidates(json::Parser& parser, std::string&& body,
                                     std::string& body_storage, const Keep& keep,
                                     std::size_t whole_below) {
  body_storage = std::move(body);
  const NodeUse use{keep, nullptr};
  auto call = read_call_body(parser, body_storage, use, whole_below);
  if (!call) return tl::unexpected(std::move(call.error()));
  if (call->root.kind() == json::Kind::kNull) return Candidates{};  // as Go reads it
  if (auto status = expect_object(call->root); !status) return tl::unexpected(status.error());
  Candidates args;
  const Status status = read_candidates(*call, body_storage, use, args);
  if (!status) return tl::unexpected(status.error());
  return args;
}

std::string encode_filter_result(const FilterResult& result) {
  std::string out;
  write_filter_result(result, out);
  return out;
}

void write_filter_result(const FilterResult& result, std::string& text) {
  std::size_t bytes = reasons_size(result);
  for (std::string_view node : result.raw_nodes) bytes += node.size() + 1;
  json::Writer out(std::move(text));
  out.reserve(bytes);
  write_result(out, result, [&] {
    for (std::string_view node : result.raw_nodes) out.raw(node);
  });
  text = std::move(out).take();
}

std::vector<std::string_view> gather_filter_result(const FilterResult& result,
                                                   std::string_view body, std::string& text) {
  json::Writer out(std::move(text));
  out.reserve(reasons_size(result));
  std::optional<std::size_t> items;
  write_result(out, result, [&] { items = out.text().size(); });
  text = std::move(out).take();
  const std::string_view whole = text;
  if (!items) return {whole};
  std::vector<std::string_view> pieces = {whole.substr(0, *items)};
  for (std::size_t i = 0; i < result.raw_nodes.size(); ++i) {
    if (i == 0) {
      pieces.push_back(result.raw_nodes[0]);
    } else {
      add_node(result.raw_nodes[i], body.data(), pieces);
    }
  }
  pieces.push_back(whole.substr(*items));
  return pieces;
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
  std::string out;
  write_host_priorities(hosts, scores, out);
  return out;
}

void write_host_priorities(std::span<const std::string_view> hosts,
                           std::span<const std::int64_t> scores, std::string& text) {
  constexpr std::size_t kAroundName = 24;  // {"Host":"","Score":10},
  std::size_t bytes = 2;
  for (const std::string_view host : hosts) bytes += host.size() + kAroundName;
  text.clear();
  text.reserve(bytes);
  text.push_back('[');
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text.append(i == 0 ? R"({"Host":)" : R"(},{"Host":)");
    json::append_string(text, hosts[i]);
    text.append(R"(,"Score":)");
    json::append_integer(text, scores[i]);
  }
  text.append(hosts.empty() ? "]" : "}]");
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
