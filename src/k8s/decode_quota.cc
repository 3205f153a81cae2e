#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "k8s/decode.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

/// Of `limits.<name>` and `requests.<name>`; every other key is somebody else's.
bool keeps(const Keep& keep, std::string_view key) {
  if (!keep.resource) return true;
  for (const std::string_view prefix : {"limits.", "requests."}) {
    if (key.substr(0, prefix.size()) == prefix) return keep.resource(key.substr(prefix.size()));
  }
  return false;
}

void read_hard(FieldReader& spec, const Keep& keep, StringMap& hard) {
  spec.object("hard").for_each_member([&](std::string_view key, json::Value value) {
    if (!keeps(keep, key)) return;
    auto text = value.string();
    if (!text) text = value.literal();
    if (!text) {
      spec.fail_with(
          wrong_kind(fmt::format("{}[\"{}\"]", spec.path("hard"), key), "a quantity", value));
      return;
    }
    for (auto& [known, old] : hard) {  // few keys
      if (known == key) {
        old = *text;
        return;
      }
    }
    hard.emplace_back(key, *text);
  });
}

/// A list of texts; anything else among them is an error.
void read_texts(FieldReader& fields, std::string_view key, std::vector<std::string>& out) {
  fields.array(key).for_each_element([&](json::Value element) {
    if (const auto text = element.string()) {
      out.emplace_back(*text);
    } else {
      fields.fail_with(wrong_kind(fields.path(key), "a list of strings", element));
    }
  });
}

void read_selector(FieldReader& spec, ResourceQuota& quota) {
  const std::string path = spec.path("scopeSelector");
  FieldReader selector(spec.object("scopeSelector"), path);
  selector.array("matchExpressions").for_each_element([&](json::Value element) {
    FieldReader fields(element, selector.path("matchExpressions"));
    ScopeExpression expression;
    fields.string("scopeName", expression.scope);
    fields.string("operator", expression.match);
    read_texts(fields, "values", expression.values);
    if (!fields.status()) selector.fail_with(fields.status().error());
    quota.selectors.push_back(std::move(expression));
  });
  if (!selector.status()) spec.fail_with(selector.status().error());
}

}  // namespace

Result<ResourceQuota> decode_quota(json::Value object, const Keep& keep) {
  if (object.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("resourcequota", "an object", object));
  }
  ResourceQuota quota;
  FieldReader meta(object["metadata"], "metadata");
  meta.string("namespace", quota.ns);
  meta.string("name", quota.name);
  meta.string("uid", quota.uid);
  meta.string("resourceVersion", quota.resource_version);
  FieldReader spec(object["spec"], "spec");
  read_hard(spec, keep, quota.hard);
  read_texts(spec, "scopes", quota.scopes);
  read_selector(spec, quota);
  for (const FieldReader* part : {&meta, &spec}) {
    if (!part->status()) return tl::unexpected(part->status().error());
  }
  return quota;
}

}  // namespace tessera::k8s
