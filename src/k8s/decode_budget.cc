#include <algorithm>
#include <string_view>
#include <utility>

#include "k8s/decode.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

Result<LabelSelector::Expression> read_expression(json::Value element, const std::string& path) {
  FieldReader fields(element, path);
  LabelSelector::Expression out;
  fields.string("key", out.key);
  fields.string("operator", out.match);
  fields.array("values").for_each_element([&](json::Value value) {
    if (const auto text = value.string())
      out.values.emplace_back(*text);
    else
      fields.fail_with(wrong_kind(fields.path("values"), "a list of strings", value));
  });
  if (!fields.status()) return tl::unexpected(fields.status().error());
  return out;
}

void read_selector(FieldReader& spec, std::optional<LabelSelector>& out) {
  const json::Value object = spec.object("selector");
  if (object.missing()) return;
  LabelSelector selector;
  FieldReader fields(object, spec.path("selector"));
  fields.map("matchLabels", {}, selector.labels);
  fields.array("matchExpressions").for_each_element([&](json::Value element) {
    auto expression = read_expression(element, fields.path("matchExpressions"));
    if (expression)
      selector.expressions.push_back(std::move(*expression));
    else
      fields.fail_with(std::move(expression.error()));
  });
  if (!fields.status()) return spec.fail_with(fields.status().error());
  out = std::move(selector);
}

bool holds(const LabelSelector::Expression& expression, const StringMap& labels) {
  const std::string* value = find(labels, expression.key);
  const bool listed =
      value != nullptr && std::find(expression.values.begin(), expression.values.end(), *value) !=
                              expression.values.end();
  if (expression.match == "In") return listed;
  if (expression.match == "NotIn") return !listed;
  if (expression.match == "Exists") return value != nullptr;
  return expression.match == "DoesNotExist" && value == nullptr;
}

}  // namespace

bool LabelSelector::selects(const StringMap& of) const {
  const bool equal = std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const std::string* value = find(of, wanted.first);
    return value != nullptr && *value == wanted.second;
  });
  return equal && std::all_of(expressions.begin(), expressions.end(),
                              [&](const Expression& e) { return holds(e, of); });
}

Result<PodDisruptionBudget> decode_budget(json::Value object) {
  if (object.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind("poddisruptionbudget", "an object", object));
  }
  PodDisruptionBudget budget;
  FieldReader meta(object["metadata"], "metadata");
  meta.string("namespace", budget.ns);
  meta.string("name", budget.name);
  meta.string("uid", budget.uid);
  meta.string("resourceVersion", budget.resource_version);
  FieldReader spec(object["spec"], "spec");
  read_selector(spec, budget.selector);
  FieldReader status(object["status"], "status");
  status.integer("disruptionsAllowed", budget.disruptions_allowed);
  for (const FieldReader* part : {&meta, &spec, &status}) {
    if (!part->status()) return tl::unexpected(part->status().error());
  }
  return budget;
}

}  // namespace tessera::k8s
