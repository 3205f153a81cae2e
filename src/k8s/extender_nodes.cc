#include "k8s/extender_nodes.h"

#include <fmt/format.h>

#include <utility>

#include "k8s/decode.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

constexpr std::string_view kOuter = "Nodes", kInner = "items";
constexpr std::size_t kItemDepth = 3;   // inside the call, Nodes and items
constexpr std::size_t kSpareRoom = 64;  // simdjson reads past the end

void begin_list(std::size_t count, const NodeUse& use, NodeList& list) {
  list.nodes.reserve(count);
  if (use.visitor != nullptr) use.visitor->begin(count);
}

void add_node(json::Value element, std::size_t index, const NodeUse& use, NodeList& list) {
  auto node = decode_node(element, use.keep);
  if (node) {
    if (use.visitor != nullptr) use.visitor->visit(*node);
    list.nodes.push_back(std::move(*node));
  } else if (list.status) {
    list.status =
        fail(Code::kInvalid, fmt::format("Nodes.items[{}]: {}", index, node.error().what));
  }
}

/// The body with an empty list where its nodes were.
std::string without(std::string_view body, const json::ArrayText& array) {
  std::string rest;
  rest.reserve(array.begin + 2 + (body.size() - array.end) + kSpareRoom);
  rest.append(body.substr(0, array.begin)).append("[]").append(body.substr(array.end));
  return rest;
}

Result<NodeList> read_one_by_one(std::vector<std::string_view> texts, const NodeUse& use) {
  NodeList list;
  begin_list(texts.size(), use, list);
  json::Parser parser;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto element = parser.parse_part(texts[i], kItemDepth);
    if (!element) {
      return fail(Code::kInvalid, fmt::format("Nodes.items[{}]: {}", i, element.error().what));
    }
    add_node(*element, i, use, list);
  }
  list.texts = std::move(texts);
  return list;
}

NodeList read_parsed(json::Value items, std::string_view body, const NodeUse& use) {
  NodeList list;
  begin_list(items.size(), use, list);
  std::size_t index = 0;
  items.for_each_element([&](json::Value element) { add_node(element, index++, use, list); });
  if (!list.status || index == 0) return list;
  auto array = json::find_array(body, kOuter, kInner);
  if (array && *array && (*array)->elements.size() == list.nodes.size()) {
    list.texts = std::move((*array)->elements);
  } else {
    list.status = fail(Code::kInternal, "Nodes.items: the texts of the nodes are not found");
  }
  return list;
}

}  // namespace

Result<CallBody> read_call_body(json::Parser& parser, std::string& body, const NodeUse& use,
                                std::size_t whole_below) {
  std::optional<json::ArrayText> array;
  if (body.size() >= whole_below) {
    body.reserve(body.size() + kSpareRoom);
    auto found = json::find_array(body, kOuter, kInner);
    if (!found) return tl::unexpected(std::move(found.error()));
    array = std::move(*found);
  }
  const auto root = array ? parser.parse(without(body, *array)) : parser.parse_in_place(body);
  if (!root) return tl::unexpected(root.error());
  CallBody call{*root, std::nullopt};
  if (!array) return call;
  auto list = read_one_by_one(std::move(array->elements), use);
  if (!list) return tl::unexpected(std::move(list.error()));
  call.nodes = std::move(*list);
  return call;
}

Status read_nodes(CallBody& call, std::string_view body, const NodeUse& use, Candidates& args) {
  const json::Value value = call.root.find_ignoring_case(kOuter);
  if (value.is_null_or_missing()) return {};
  if (value.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("Nodes", "an object", value));
  }
  const json::Value items = value.find_ignoring_case(kInner);
  if (!items.is_null_or_missing() && items.kind() != json::Kind::kArray) {
    return tl::unexpected(wrong_kind("Nodes.items", "an array", items));
  }
  NodeList list = call.nodes ? std::move(*call.nodes) : read_parsed(items, body, use);
  if (!list.status) return list.status;
  args.has_nodes = true;
  args.nodes = std::move(list.nodes);
  args.raw_nodes = std::move(list.texts);
  return {};
}

}  // namespace tessera::k8s
