#include "k8s/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/quantity.h"
#include "base/text.h"

namespace tessera::k8s {
namespace {

/// Unique keys: a repeated key replaces the earlier value, as Go's decoder does. Writes over what
/// the target had before, entry by entry, for the memory of its texts.
class MapBuilder {
 public:
  explicit MapBuilder(StringMap& target) : target_(target) {}
  MapBuilder(const MapBuilder&) = delete;
  MapBuilder& operator=(const MapBuilder&) = delete;
  ~MapBuilder() { target_.resize(count_); }

  void put(std::string_view key, std::string_view value) {
    std::string* known = find(key);
    if (known != nullptr) {
      known->assign(value);
      return;
    }
    if (count_ == target_.size()) target_.emplace_back();
    target_[count_].first = key;
    target_[count_].second = value;
    if (count_ >= kFew) index_.try_emplace(key, count_);
    ++count_;
  }

 private:
  static constexpr std::size_t kFew = 16;

  std::string* find(std::string_view key) {
    for (std::size_t i = 0; i < std::min(count_, kFew); ++i)
      if (target_[i].first == key) return &target_[i].second;
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &target_[at->second].second;
  }

  StringMap& target_;
  std::size_t count_ = 0;
  std::unordered_map<std::string_view, std::size_t> index_;  // of those beyond the first few; keys
                                                             // of the document, not of target_
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

std::string FieldReader::path() const {
  if (parent_ == nullptr) return path_;
  std::string path = parent_->path(key_);
  if (index_ != kNoIndex) path += fmt::format("[{}]", index_);
  return path;
}

std::string FieldReader::path(std::string_view key) const {
  const std::string own = path();
  return own.empty() ? std::string(key) : fmt::format("{}.{}", own, key);
}

void FieldReader::check_object() {
  if (object_.is_null_or_missing() || object_.kind() == json::Kind::kObject) return;
  const std::string own = path();
  fail_with(wrong_kind(own.empty() ? "object" : std::string_view(own), "an object", object_));
}

std::string_view FieldReader::text(std::string_view key) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return {};
  const auto text = value.string();
  if (!text) fail_with(wrong_kind(path(key), "a string", value));
  return text.value_or(std::string_view());
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
  if (value.kind() == json::Kind::kObject) return value;
  fail_with(wrong_kind(path(key), "an object", value));
  return {};
}

json::Value FieldReader::array(std::string_view key) {
  const json::Value value = object_[key];
  if (value.is_null_or_missing()) return {};
  if (value.kind() == json::Kind::kArray) return value;
  fail_with(wrong_kind(path(key), "an array", value));
  return {};
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
