#include "apps/manifest.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <string_view>

#include "json/reader.h"
#include "json/writer.h"

namespace tessera::apps {
namespace {

constexpr int kDeepest = 64;

bool is_json_number(const std::string& text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return false;
  json::Parser parser;
  const Result<json::Value> value = parser.parse(text);
  return value && value->kind() == json::Kind::kNumber;
}

/// Quoted scalars carry the tag "!": they are texts whatever they look like.
void write_scalar(json::Writer& w, const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") {
    w.string(text);
  } else if (text == "true" || text == "false") {
    w.boolean(text == "true");
  } else if (is_json_number(text)) {
    w.raw(text);
  } else {
    w.string(text);
  }
}

Status write_node(json::Writer& w, const YAML::Node& node, int depth) {
  if (depth > kDeepest) return fail(Code::kInvalid, "the manifest is nested too deeply");
  if (!node.IsDefined() || node.IsNull()) return w.null(), Status();
  if (node.IsScalar()) return write_scalar(w, node), Status();
  if (node.IsSequence()) {
    w.begin_array();
    for (const YAML::Node& element : node) {
      if (Status s = write_node(w, element, depth + 1); !s) return s;
    }
    return w.end_array(), Status();
  }
  w.begin_object();
  for (const auto& member : node) {
    if (!member.first.IsScalar()) return fail(Code::kInvalid, "a key of the manifest is no text");
    w.key(member.first.Scalar());
    if (Status s = write_node(w, member.second, depth + 1); !s) return s;
  }
  return w.end_object(), Status();
}

}  // namespace

Result<std::string> manifest_json(const std::string& text) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsMap()) return fail(Code::kInvalid, "the manifest is not an object");
    json::Writer w;
    if (Status s = write_node(w, document, 0); !s) return tl::unexpected(s.error());
    return std::move(w).take();
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalid, fmt::format("line {}, column {}: {}", error.mark.line + 1,
                                            error.mark.column + 1, error.msg));
  }
}

}  // namespace tessera::apps
