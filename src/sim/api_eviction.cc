// Evictions: deletions that ask the PodDisruptionBudgets first. There is no controller that counts
// healthy pods: what a budget's status allows is what somebody wrote there, less one for each
// eviction.
#include <fmt/format.h>

#include <vector>

#include "k8s/decode.h"
#include "sim/api_engine.h"

namespace tessera::sim::api {
namespace {

constexpr std::string_view kWouldViolate =
    "Cannot evict pod as it would violate the pod's disruption budget.";

const Resource& budgets() { return *find_resource("policy", "v1", "poddisruptionbudgets"); }

/// Nobody misses a pod that does not run yet, or any more.
bool counts_for_budgets(const Value& pod) {
  const std::string& phase = pod["status"]["phase"].text();
  const bool runs = phase != "Pending" && phase != "Succeeded" && phase != "Failed";
  return runs && !pod["metadata"].has("deletionTimestamp");
}

k8s::StringMap labels_of(const Value& object) {
  k8s::StringMap labels;
  for (const auto& [key, value] : object["metadata"]["labels"].members())
    labels.emplace_back(key, value.text());
  return labels;
}

std::vector<ObjectPtr> budgets_over(const Store& store, const StoredObject& pod) {
  std::vector<ObjectPtr> over;
  const k8s::StringMap labels = labels_of(pod.value);
  for (const ObjectPtr& object : store.list(budgets(), pod.space)) {
    json::Parser parser;
    const auto tree = parser.parse(object->json);
    if (!tree) continue;
    const auto budget = k8s::decode_budget(*tree);
    if (budget && budget->selector && budget->selector->selects(labels)) over.push_back(object);
  }
  return over;
}

Reply refused_by(const StoredObject& budget) {
  const Value& status = budget.value["status"];
  Value body = status_object(429, "TooManyRequests", kWouldViolate);
  body.make("details").make("causes") = Value::array({Value::object(
      {{"reason", "DisruptionBudget"},
       {"message",
        fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                    budget.name, status["desiredHealthy"].integer().value_or(0),
                    status["currentHealthy"].integer().value_or(0))}})});
  return json_reply(429, body);
}

}  // namespace

std::optional<Reply> Engine::ask_budgets(const StoredObject& pod, bool dry_run) {
  if (!counts_for_budgets(pod.value)) return std::nullopt;
  const std::vector<ObjectPtr> over = budgets_over(store_, pod);
  if (over.empty()) return std::nullopt;
  if (over.size() > 1)
    return failure(500, "InternalError",
                   "Internal error occurred: This pod has more than one PodDisruptionBudget, which "
                   "the eviction subresource does not support.");
  const StoredObject& budget = *over.front();
  const std::int64_t allowed = budget.value["status"]["disruptionsAllowed"].integer().value_or(0);
  if (allowed <= 0) return refused_by(budget);
  if (dry_run) return std::nullopt;
  Value next = budget.value;
  Value& status = next.make("status");
  status.make("disruptionsAllowed") = allowed - 1;
  status.make("disruptedPods").make(pod.name) = format_rfc3339(clock_.wall());
  store_.put(*budget.resource, budget.space, budget.name, std::move(next));
  return std::nullopt;
}

Reply Engine::evict(const Call& call, const Target& target) {
  const auto body = call.decoded_body();
  if (!body) return bad_request(fmt::format("Eviction: {}", body.error().what));
  auto options = delete_options(call, (*body)["deleteOptions"]);
  if (!options) return bad_request("gracePeriodSeconds: must be a whole number, not negative");
  const std::string& named = (*body)["metadata"]["name"].text();
  if (!named.empty() && named != target.name)
    return bad_request(fmt::format("name in URL does not match name in Eviction object: {} and {}",
                                   target.name, named));
  const ObjectPtr object = store_.find(*target.resource, target.space, target.name);
  if (object == nullptr) return not_found(*target.resource, target.name);
  if (auto other = check_preconditions(*object, *options)) return std::move(*other);
  if (auto refused = ask_budgets(*object, options->dry_run)) return std::move(*refused);
  if (!options->dry_run) remove_object(*object, *options);
  return json_reply(201, status_object(201, "", ""));
}

}  // namespace tessera::sim::api
