#include "sim/scenario_barrier.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "sim/scenario_cards.h"
#include "sim/scenario_objects.h"

namespace tessera::sim {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kPause{5};
constexpr std::int64_t kRoom = 128, kTaken = 64, kTooMuch = 100;
constexpr std::string_view kFree = "kube-system";  ///< no scenario has a quota there

/// A pod of one container in a namespace of its own.
std::string barrier_pod(const std::string& name, std::string_view space, const std::string& uid,
                        std::int64_t memory, const std::string& node) {
  std::string spec = R"("schedulerName":"hami-scheduler")", more;
  if (!node.empty()) {
    spec += fmt::format(R"(,"nodeName":"{}")", node);
    more = fmt::format(
        R"(,"annotations":{{"hami.io/vgpu-node":"{0}","hami.io/bind-phase":"success","hami.io/vgpu-devices-allocated":"{0}-card0,NVIDIA,{1},0:;"}})",
        node, memory);
  }
  const std::string id = uid.empty() ? "" : fmt::format(R"(,"uid":"{}")", uid);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}"{}{}}},"spec":{{{},"containers":[{{"name":"c","image":"none","resources":{{"limits":{{"nvidia.com/gpu":"1","nvidia.com/gpumem":"{}"}}}}}}]}},"status":{{"phase":"{}"}}}})",
      name, space, id, more, spec, memory, node.empty() ? "Pending" : "Running");
}

std::string reason_of(const Verdict& verdict, const std::string& node) {
  for (const auto& [name, text] : verdict.reasons)
    if (name == node) return text;
  return {};
}

}  // namespace

Status Barrier::write(const std::string& name) {
  ScenarioNode node{.name = name};
  core::Device card = plain_card();
  card.id = name + "-card0";
  card.memory = {kRoom};
  card.model = "NVIDIA-barrier";
  node.devices.push_back(card);
  if (const auto selector = key_value(scenario_.selector))
    node.labels.emplace_back(selector->key, selector->value);
  const auto make = [&](const std::string& collection, const std::string& object) -> Status {
    const Result<std::string> made = cluster_.create(collection, object);
    return made ? Status{} : Status(tl::unexpected(made.error()));
  };
  if (Status s = make("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
      !s)
    return s;
  if (Status s = make("/api/v1/nodes", node_object(scenario_, node)); !s) return s;
  if (Status s = make(fmt::format("/api/v1/namespaces/{}/pods", kFree),
                      barrier_pod(name, kFree, "", kTaken, name));
      !s)
    return s;
  return make(fmt::format("/api/v1/namespaces/{}/resourcequotas", name),
              R"({"metadata":{"name":"none"},"spec":{"hard":{"limits.nvidia.com/gpumem":"0"}}})");
}

/// A pod that fits leaves a reservation; the last answer for each is a refusal, which ends it.
Result<std::string> Barrier::missing(const std::string& name) {
  const Result<Verdict> full =
      cluster_.filter(barrier_pod("room", kFree, "barrier-room", kTooMuch, ""), {name});
  if (!full) return tl::unexpected(full.error());
  if (reason_of(*full, name) == "node unregistered") return "the node " + name;
  if (!full->node.empty()) return "the pod " + name;
  const Result<Verdict> denied = cluster_.filter(
      barrier_pod("quota", name, "barrier-quota-" + name, kRoom - kTaken, ""), {name});
  if (!denied) return tl::unexpected(denied.error());
  return denied->node.empty() ? std::string() : "the quota of namespace " + name;
}

Status Barrier::wait() {
  const std::string name = fmt::format("barrier-{}", ++serial_);
  if (Status s = write(name); !s) return s;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const Result<std::string> found = missing(name);
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) return {};
    if (std::chrono::steady_clock::now() > deadline)
      return fail(Code::kUnavailable, "the server did not see " + *found);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tessera::sim
