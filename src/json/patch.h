/// Builders for RFC 6902 (JSON Patch) and RFC 7386 (merge patch) documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::json {

/// `a/b~c` -> `a~1b~0c`
std::string escape_pointer(std::string_view token);

class PatchBuilder {
 public:
  /// value is JSON text.
  void add(std::string_view pointer, std::string_view value);
  void replace(std::string_view pointer, std::string_view value);
  void remove(std::string_view pointer);
  bool empty() const { return operations_.empty(); }
  std::string text() const;  ///< "[…]"

 private:
  std::vector<std::string> operations_;
};

/// JSON text of a string.
std::string quoted(std::string_view s);

}  // namespace tessera::json
