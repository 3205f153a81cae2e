#include "k8s/fields.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/quantity.h"
#include "base/text.h"

namespace tessera::k8s {
namespace {

/// Appends with unique keys: a repeated key replaces the earlier value, as Go's decoder does.
class MapBuilder {
 public:
  explicit MapBuilder(StringMap& target) : target_(target) { target_.clear(); }
  void put(std::string_view key, std::string_view value) {
    const auto [at, fresh] = index_.try_emplace(key, target_.size());
    if (fresh) {
      target_.emplace_back(key, value);
    } else {
      target_[at->second].second = value;
    }
  }

 private:
  StringMap& target_;
  std::unordered_map<std::string_view, std::size_t> index_;  // keys of the document, not of target_
};

std::string member_path(std::string_view path, std::string_view key) {
  return fmt::format("{}[{}]", path, text::quote(key));
}

}  // namespace

std::string describe(json::Value value) {
  constexpr std::size_t kShown = 64;
  switch (value.kind()) {
    case json::Kind::kMissing:
      return "nothing";
    case json::Kind::kNull:
      return "null";
    case json::Kind::kBool:
      return value.boolean().value_or(false) ? "true" : "false";
    case json::Kind::kNumber:
      return fmt::format("number {}", value.literal()->substr(0, kShown));
    case json::Kind::kString:
      return fmt::format("string {}", text::quote(value.string_or("").substr(0, kShown)));
    case json::Kind::kArray:
      return "an array";
    case json::Kind::kObject:
      return "an object";
  }
  return "nothing";
}

Error wrong_kind(std::string_view field, std::string_view expected, json::Value got) {
  return {Code::kInvalid, fmt::format("{}: expected {}, got {}", field, expected, describe(got))};
}

std::string FieldReader::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool FieldReader::expect(json::Value value, json::Kind kind, std::string_view field,
                         std::string_view words) {
  if (value.kind() == kind) return true;
  fail_with(wrong_kind(field.empty() ? "object" : field, words, value));
  return false;
}

void FieldReader::string(std::string_view key, std::string& target) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return;
  if (const auto text = value.string()) {
    target = *text;
  } else {
    fail_with(wrong_kind(path(key), "a string", value));
  }
}

void FieldReader::boolean(std::string_view key, bool& target) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return;
  if (const auto flag = value.boolean()) {
    target = *flag;
  } else {
    fail_with(wrong_kind(path(key), "true or false", value));
  }
}

void FieldReader::integer(std::string_view key, std::int64_t& target) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return;
  if (const auto number = value.integer()) {
    target = *number;
  } else {
    fail_with(wrong_kind(path(key), "a whole number", value));
  }
}

json::Value FieldReader::object(std::string_view key) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return {};
  return expect(value, json::Kind::kObject, path(key), "an object") ? value : json::Value();
}

json::Value FieldReader::array(std::string_view key) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return {};
  return expect(value, json::Kind::kArray, path(key), "an array") ? value : json::Value();
}

void FieldReader::map(std::string_view key, const std::function<bool(std::string_view)>& keep,
                      StringMap& target) {
  MapBuilder builder(target);
  object(key).for_each_member([&](std::string_view name, json::Value value) {
    if (keep && !keep(name)) return;
    if (const auto text = value.string()) {
      builder.put(name, *text);
    } else if (value.is_null_or_missing()) {
      builder.put(name, "");
    } else {
      fail_with(wrong_kind(member_path(path(key), name), "a string", value));
    }
  });
}

void FieldReader::quantities(std::string_view key,
                             const std::function<bool(std::string_view)>& keep, StringMap& target) {
  MapBuilder builder(target);
  object(key).for_each_member([&](std::string_view name, json::Value value) {
    if (keep && !keep(name)) return;
    auto text = value.string();
    if (!text) text = value.literal();
    if (!text && value.is_null_or_missing()) text = "0";
    if (!text) {
      fail_with(wrong_kind(member_path(path(key), name), "a quantity", value));
      return;
    }
    if (const auto quantity = Quantity::parse(*text); !quantity) {
      fail_with({Code::kInvalid,
                 fmt::format("{}: {}", member_path(path(key), name), quantity.error().what)});
      return;
    }
    builder.put(name, *text);
  });
}

}  // namespace tessera::k8s
