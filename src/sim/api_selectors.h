/// Label and field selectors of lists and watches. Thread rule: plain values, freely shared after
/// parse().
///   auto selector = Selector::parse(core_resource("pods"), "app in (a,b),!old",
///   "spec.nodeName=n1"); selector->matches(object);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

class Selector {
 public:
  /// Errors are worded as the API server's: "field label not supported: foo", "unable to parse
  /// requirement: ...".
  static Result<Selector> parse(const Resource& resource, std::string_view labels,
                                std::string_view fields);
  bool matches(const StoredObject& object) const;
  bool everything() const { return labels_.empty() && fields_.empty(); }

 private:
  enum class Test : std::uint8_t { kExists, kAbsent, kIn, kNotIn };
  struct Requirement {
    Test test = Test::kExists;
    std::string key;
    std::vector<std::string> values;
  };
  struct FieldTest {
    std::string path, value;
    bool equal = true;
  };
  static Result<Requirement> parse_requirement(std::string_view text);
  static Result<FieldTest> parse_field(const Resource& resource, std::string_view text);
  static bool holds(const Requirement& requirement, const Value& labels);

  std::vector<Requirement> labels_;
  std::vector<FieldTest> fields_;
};

}  // namespace tessera::sim::api
