#include "sim/api_selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

struct SupportedFields {
  std::string_view kind;
  std::string_view
      paths;  ///< separated by commas; metadata.name and metadata.namespace always work
};
constexpr auto kSupportedFields = std::to_array<SupportedFields>({
    {"Pod",
     "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,spec.hostNetwork,"
     "status.phase,status.podIP,status.nominatedNodeName"},
    {"Node", "spec.unschedulable"},
    {"Namespace", "status.phase"},
    {"Event",
     "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,"
     "involvedObject.apiVersion,involvedObject.resourceVersion,involvedObject.fieldPath,reason,"
     "reportingComponent,source,type"},
});
constexpr std::string_view kBooleanFields = "spec.unschedulable,spec.hostNetwork";

bool listed(std::string_view comma_separated, std::string_view word) {
  const auto words = text::split(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool supported(const Resource& resource, std::string_view path) {
  if (path == "metadata.name" || path == "metadata.namespace") return true;
  for (const SupportedFields& row : kSupportedFields)
    if (row.kind == resource.kind) return listed(row.paths, path);
  return false;
}

std::string field_text(const Value& object, std::string_view path) {
  const Value* at = &object;
  for (const std::string_view step : text::split(path, '.')) at = &(*at)[step];
  if (path == "source" && at->is_object()) return (*at)["component"].text();
  if (listed(kBooleanFields, path)) return at->is_true() ? "true" : "false";
  return at->text();
}

/// Pieces between commas, except those in parentheses.
std::vector<std::string_view> split_requirements(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(') ++depth;
    if (c == ')') --depth;
    const bool boundary = (c == ',' && depth <= 0) || i == text.size();
    if (!boundary) continue;
    pieces.push_back(text::trim(text.substr(start, i - start)));
    start = i + 1;
  }
  return pieces;
}

/// Commas and equal signs inside a value are written with a backslash before them.
std::vector<std::string> split_fields(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      pieces.back() += text[++i];
    } else if (text[i] == ',') {
      pieces.emplace_back();
    } else {
      pieces.back() += text[i];
    }
  }
  return pieces;
}

tl::unexpected<Error> bad_requirement(std::string_view text) {
  return fail(Code::kInvalid, fmt::format("unable to parse requirement: \"{}\" is none of key, "
                                          "!key, key=value, key!=value, key in (values), key notin "
                                          "(values)",
                                          text));
}

bool plain_word(std::string_view word) {
  return std::none_of(word.begin(), word.end(), [](char c) {
    return c == ' ' || c == '(' || c == ')' || c == '!' || c == '=' || c == ',' || c == '<' ||
           c == '>';
  });
}

/// "(a, b)" -> a, b
std::optional<std::vector<std::string>> parse_set(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  std::vector<std::string> values;
  for (const std::string_view value : text::split(text.substr(1, text.size() - 2), ',')) {
    if (!plain_word(text::trim(value))) return std::nullopt;
    values.emplace_back(text::trim(value));
  }
  return values;
}

}  // namespace

Result<Selector::Requirement> Selector::parse_requirement(std::string_view text) {
  if (text.starts_with('!')) {
    const std::string_view key = text::trim(text.substr(1));
    if (key.empty() || !plain_word(key)) return bad_requirement(text);
    return Requirement{Test::kAbsent, std::string(key), {}};
  }
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    const bool negated = equals > 0 && text[equals - 1] == '!';
    const bool doubled = equals + 1 < text.size() && text[equals + 1] == '=';
    const std::string_view key = text::trim(text.substr(0, negated ? equals - 1 : equals));
    const std::string_view value = text::trim(text.substr(equals + (doubled ? 2 : 1)));
    if (key.empty() || !plain_word(key) || !plain_word(value)) return bad_requirement(text);
    return Requirement{negated ? Test::kNotIn : Test::kIn, std::string(key), {std::string(value)}};
  }
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) {
    if (text.empty() || !plain_word(text)) return bad_requirement(text);
    return Requirement{Test::kExists, std::string(text), {}};
  }
  const std::string_view rest = text::trim(text.substr(blank));
  const bool negated = rest.starts_with("notin");
  if (!negated && !rest.starts_with("in")) return bad_requirement(text);
  auto values = parse_set(text::trim(rest.substr(negated ? 5 : 2)));
  if (!values) return bad_requirement(text);
  return Requirement{negated ? Test::kNotIn : Test::kIn, std::string(text.substr(0, blank)),
                     std::move(*values)};
}

Result<Selector::FieldTest> Selector::parse_field(const Resource& resource, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail(Code::kInvalid, fmt::format("invalid field selector: \"{}\"", text));
  const bool negated = equals > 0 && text[equals - 1] == '!';
  const bool doubled = equals + 1 < text.size() && text[equals + 1] == '=';
  FieldTest test;
  test.equal = !negated;
  test.value = text.substr(equals + (doubled ? 2 : 1));
  std::string_view path = text.substr(0, negated ? equals - 1 : equals);
  // events.k8s.io names the object otherwise; both are kept in the core form
  constexpr std::string_view kRegarding = "regarding.";
  if (resource.shares_storage && path.starts_with(kRegarding))
    test.path = "involvedObject." + std::string(path.substr(kRegarding.size()));
  else
    test.path = path;
  if (!supported(resource, test.path))
    return fail(Code::kInvalid, fmt::format("field label not supported: {}", path));
  return test;
}

Result<Selector> Selector::parse(const Resource& resource, std::string_view labels,
                                 std::string_view fields) {
  Selector selector;
  if (!text::trim(labels).empty()) {
    for (const std::string_view piece : split_requirements(labels)) {
      auto requirement = parse_requirement(piece);
      if (!requirement) return tl::unexpected(requirement.error());
      selector.labels_.push_back(std::move(*requirement));
    }
  }
  for (const std::string& piece : split_fields(fields)) {
    if (piece.empty()) continue;
    auto test = parse_field(resource, piece);
    if (!test) return tl::unexpected(test.error());
    selector.fields_.push_back(std::move(*test));
  }
  return selector;
}

bool Selector::holds(const Requirement& requirement, const Value& labels) {
  const Value* label = labels.find(requirement.key);
  if (requirement.test == Test::kExists) return label != nullptr;
  if (requirement.test == Test::kAbsent) return label == nullptr;
  const auto& values = requirement.values;
  const bool among =
      label != nullptr && std::find(values.begin(), values.end(), label->text()) != values.end();
  return among == (requirement.test == Test::kIn);
}

bool Selector::matches(const StoredObject& object) const {
  const Value& labels = object.value["metadata"]["labels"];
  return std::all_of(labels_.begin(), labels_.end(),
                     [&](const Requirement& r) { return holds(r, labels); }) &&
         std::all_of(fields_.begin(), fields_.end(), [&](const FieldTest& test) {
           return (field_text(object.value, test.path) == test.value) == test.equal;
         });
}

}  // namespace tessera::sim::api
