/// Reading of single fields with errors that name them. Internal to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/objects.h"

namespace tessera::k8s {

/// What a value is, in words for an error: `number 5`, `string "x"`, `an object`.
std::string describe(json::Value value);

/// `<field>: expected <kind>, got <value>`
Error wrong_kind(std::string_view field, std::string_view expected, json::Value got);

/// Reads members of one object. The first error sticks; the caller asks once at the end. Missing
/// and null leave the target alone.
class FieldReader {
 public:
  FieldReader(json::Value object, std::string path) : object_(object), path_(std::move(path)) {
    check_object();
  }
  static constexpr std::size_t kNoIndex = SIZE_MAX;
  /// The member `key` of an object, or an element of it. Its path is put together only for an
  /// error; the reader of the object must live as long.
  FieldReader(json::Value object, const FieldReader& parent, std::string_view key,
              std::size_t index = kNoIndex)
      : object_(object), parent_(&parent), key_(key), index_(index) {
    check_object();
  }
  /// "" when it is not there.
  std::string_view text(std::string_view key);
  void string(std::string_view key, std::string& target);
  void boolean(std::string_view key, bool& target);
  void integer(std::string_view key, std::int64_t& target);
  /// String values only; keys that `keep` refuses are not looked at.
  void map(std::string_view key, const std::function<bool(std::string_view)>& keep,
           StringMap& target);
  /// Quantities: strings, or numbers with their literal text. Values that are no quantity are an
  /// error.
  void quantities(std::string_view key, const std::function<bool(std::string_view)>& keep,
                  StringMap& target);
  /// A member that must be an object or array when it is there; kMissing when absent, null or
  /// wrong.
  json::Value object(std::string_view key);
  json::Value array(std::string_view key);
  /// Path of a member for messages; the root object has no name.
  std::string path(std::string_view key) const;
  std::string path() const;
  void fail_with(Error error) {
    if (status_) status_ = tl::unexpected(std::move(error));
  }
  const Status& status() const { return status_; }

 private:
  void check_object();

  json::Value object_;
  std::string path_;
  const FieldReader* parent_ = nullptr;  // where the path is, unless it is here
  std::string_view key_;
  std::size_t index_ = kNoIndex;
  Status status_;
};

}  // namespace tessera::k8s
