#include "sim/api_patch.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

/// The way to an element: member names and array indices, unescaped.
using Pointer = std::vector<std::string>;

Result<Pointer> parse_pointer(const Value& operation, std::string_view field) {
  const Value* text = operation.find(field);
  if (text == nullptr || !text->is_string())
    return fail(Code::kInvalid, fmt::format("JSON patch operation lacks the string \"{}\"", field));
  Pointer pointer;
  if (text->text().empty()) return pointer;
  if (text->text().front() != '/')
    return fail(Code::kInvalid,
                fmt::format("{} \"{}\" does not begin with /", field, text->text()));
  for (const std::string_view piece : text::split(std::string_view(text->text()).substr(1), '/')) {
    std::string step;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const bool escape = piece[i] == '~' && i + 1 < piece.size();
      step += !escape ? piece[i] : piece[i + 1] == '1' ? '/' : '~';
      if (escape) ++i;
    }
    pointer.push_back(std::move(step));
  }
  return pointer;
}

/// The index of an existing element, or size for "-" and the place behind the last when `insert`.
std::optional<std::size_t> array_index(const Value& array, const std::string& step, bool insert) {
  const std::size_t size = array.items().size();
  if (insert && step == "-") return size;
  const auto index = text::parse_int(step, 32);
  if (!index || *index < 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(*index);
  return at < size + (insert ? 1 : 0) ? std::optional(at) : std::nullopt;
}

Value* child(Value& parent, const std::string& step) {
  if (!parent.is_array()) return parent.find(step);
  const auto index = array_index(parent, step, false);
  return index ? &parent.items()[*index] : nullptr;
}

Value* resolve(Value& root, const Pointer& pointer, std::size_t steps) {
  Value* at = &root;
  for (std::size_t i = 0; i < steps && at != nullptr; ++i) at = child(*at, pointer[i]);
  return at;
}

tl::unexpected<Error> missing(const Pointer& pointer) {
  return fail(Code::kConflict, fmt::format("path /{} does not exist", text::join(pointer, "/")));
}

Status add_at(Value& root, const Pointer& pointer, Value value) {
  if (pointer.empty()) {
    root = std::move(value);
    return {};
  }
  Value* parent = resolve(root, pointer, pointer.size() - 1);
  if (parent == nullptr) return missing(pointer);
  if (parent->is_object()) {
    parent->make(pointer.back()) = std::move(value);
    return {};
  }
  const auto index = parent->is_array() ? array_index(*parent, pointer.back(), true) : std::nullopt;
  if (!index) return missing(pointer);
  auto& items = parent->items();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return {};
}

Result<Value> take_at(Value& root, const Pointer& pointer) {
  Value* parent = pointer.empty() ? nullptr : resolve(root, pointer, pointer.size() - 1);
  Value* element = parent == nullptr ? nullptr : child(*parent, pointer.back());
  if (element == nullptr) return missing(pointer);
  Value taken = std::move(*element);
  if (parent->is_array())
    parent->items().erase(parent->items().begin() + (element - parent->items().data()));
  else
    parent->erase(pointer.back());
  return taken;
}

Status run_operation(Value& root, const Value& operation) {
  const std::string& name = operation["op"].text();
  const auto path = parse_pointer(operation, "path");
  if (!path) return tl::unexpected(path.error());
  const bool has_value = operation.has("value");
  if ((name == "add" || name == "replace" || name == "test") && !has_value)
    return fail(Code::kInvalid, fmt::format("JSON patch operation {} lacks a value", name));
  if (name == "add") return add_at(root, *path, operation["value"]);
  Value* element = resolve(root, *path, path->size());
  if (name == "test") {
    if (element != nullptr && *element == operation["value"]) return {};
    return fail(Code::kConflict, fmt::format("test of /{} failed", text::join(*path, "/")));
  }
  if (name == "replace") {
    if (element == nullptr) return missing(*path);
    *element = operation["value"];
    return {};
  }
  if (name == "remove") {
    const auto removed = take_at(root, *path);
    return removed ? Status() : tl::unexpected(removed.error());
  }
  if (name != "move" && name != "copy")
    return fail(Code::kInvalid, fmt::format("unknown JSON patch operation \"{}\"", name));
  const auto from = parse_pointer(operation, "from");
  if (!from) return tl::unexpected(from.error());
  if (name == "move") {
    auto taken = take_at(root, *from);
    return taken ? add_at(root, *path, std::move(*taken)) : Status(tl::unexpected(taken.error()));
  }
  const Value* source = resolve(root, *from, from->size());
  return source != nullptr ? add_at(root, *path, Value(*source)) : Status(missing(*from));
}

}  // namespace

void apply_merge_patch(Value& target, const Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  target.members();
  for (const auto& [key, value] : patch.members()) {
    if (value.is_null())
      target.erase(key);
    else
      apply_merge_patch(target.make(key), value);
  }
}

Status apply_json_patch(Value& target, const Value& patch) {
  if (!patch.is_array()) return fail(Code::kInvalid, "a JSON patch must be a list of operations");
  Value copy = target;
  for (const Value& operation : patch.items()) {
    if (auto done = run_operation(copy, operation); !done) return done;
  }
  target = std::move(copy);
  return {};
}

}  // namespace tessera::sim::api
