#include "scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "core/place.h"
#include "json/reader.h"
#include "k8s/decode.h"

namespace tessera::golden {
namespace {

using Json = nlohmann::json;

constexpr auto kAllocated = "hami.io/vgpu-devices-allocated";

std::string without_empty_positions(const std::string& text) {
  std::string out;
  for (const std::string_view piece : text::split(text, ';')) {
    if (!piece.empty()) out += std::string(piece) + ";";
  }
  return out;
}

class Scene {
 public:
  Scene(const Json& scenario, const vendors::Vendors& vendors,
        const vendors::PolicyDefaults& defaults)
      : scenario_(scenario), vendors_(vendors), defaults_(defaults), cluster_(vendors.rules()) {}

  Comparison compare() {
    Comparison c;
    const auto failed = set_up();
    if (!failed.empty()) {
      c.detail = failed;
      return c;
    }
    const auto pod = pod_of(scenario_["pod"], "uid-incoming", "");
    const auto demand = pod ? vendors_.demand(*pod, defaults_)
                            : Result<vendors::Demand>(tl::unexpected(pod.error()));
    if (!demand) {
      c.detail = demand.error().what;
      return c;
    }
    std::vector<NodeId> candidates;
    for (const Json& name : scenario_["candidates"])
      candidates.push_back(cluster_.find_node(name.get<std::string>()));
    const auto outcome = core::place(cluster_, demand->request, candidates);
    return outcome.decision ? compare_placed(*outcome.decision, demand->request)
                            : compare_refused(outcome);
  }

 private:
  std::string set_up() {
    for (const Json& node : scenario_["nodes"]) {
      const Json object = {{"metadata",
                            {{"name", node["name"]},
                             {"annotations", node["annotations"]},
                             {"labels", node["labels"]}}},
                           {"status", {{"allocatable", node["allocatable"]}}}};
      json::Parser parser;
      const auto value = parser.parse(object.dump());
      const auto decoded = value ? k8s::decode_node(*value, vendors_.keep())
                                 : Result<k8s::Node>(tl::unexpected(value.error()));
      if (!decoded) return decoded.error().what;
      auto reading = vendors_.read_node(*decoded);
      if (!reading.problems.empty()) return reading.problems.front();
      cluster_.set_node(std::move(reading.spec));
    }
    for (const Json& bound : scenario_["bound"]) {
      const auto pod = pod_of(bound, "uid-" + bound["name"].get<std::string>(),
                              bound["node"].get<std::string>());
      if (!pod) return pod.error().what;
      auto allocation = vendors_.decode(*pod);
      if (!allocation) return allocation.error().what;
      cluster_.confirm({pod->uid}, std::move(*allocation));
    }
    return {};
  }

  Result<k8s::Pod> pod_of(const Json& source, const std::string& uid, const std::string& node) {
    Json object = {{"metadata",
                    {{"name", source["name"]},
                     {"namespace", "default"},
                     {"uid", uid},
                     {"annotations", source["annotations"]}}},
                   {"spec", {{"containers", source["containers"]}}}};
    if (source.contains("init")) object["spec"]["initContainers"] = source["init"];
    if (!node.empty()) object["spec"]["nodeName"] = node;
    json::Parser parser;
    const auto value = parser.parse(object.dump());
    if (!value) return tl::unexpected(value.error());
    return k8s::decode_pod(*value, vendors_.keep());
  }

  Comparison compare_placed(const core::Decision& decision, const core::Request& request) {
    Comparison c;
    c.placed = true;
    const std::string node = cluster_.node(decision.node).spec.name;
    std::string ours;
    for (const auto& [key, text] : vendors_.encode(decision.allocation)) {
      if (key == kAllocated) ours = text;
    }
    c.every_position = static_cast<std::size_t>(std::count(ours.begin(), ours.end(), ';')) ==
                       request.positions.size();
    c.detail = fmt::format("ours {} {}", node, ours);
    for (const Json& answer : scenario_["answers"]) {
      if (answer["nodes"].empty()) {
        c.detail += fmt::format("\n    HAMi refuses: {}", answer["reasons"].dump());
        continue;
      }
      c.fit = true;
      const std::string theirs = answer["wrote"].value(kAllocated, "");
      c.detail += fmt::format("\n    HAMi {} {}", answer["nodes"][0].get<std::string>(), theirs);
      if (answer["nodes"][0] != node) continue;
      c.node = true;
      c.devices = c.devices || without_empty_positions(theirs) == without_empty_positions(ours);
    }
    return c;
  }

  Comparison compare_refused(const core::Outcome& outcome) {
    Comparison c;
    std::map<std::string, std::string> ours;
    for (const auto& rejected : outcome.rejected) {
      ours[scenario_["candidates"][rejected.candidate].get<std::string>()] = rejected.reject.text();
    }
    c.detail = fmt::format("ours refuses: {}", Json(ours).dump());
    for (const Json& answer : scenario_["answers"]) {
      if (!answer["nodes"].empty()) {
        c.detail += fmt::format("\n    HAMi {} {}", answer["nodes"][0].get<std::string>(),
                                answer["wrote"].value(kAllocated, ""));
        continue;
      }
      c.fit = true;
      c.detail += fmt::format("\n    HAMi refuses: {}", answer["reasons"].dump());
      c.reasons = c.reasons || answer["reasons"].get<std::map<std::string, std::string>>() == ours;
    }
    return c;
  }

  const Json& scenario_;
  const vendors::Vendors& vendors_;
  const vendors::PolicyDefaults& defaults_;
  core::Cluster cluster_;
};

}  // namespace

Comparison play(const nlohmann::json& scenario, const vendors::Vendors& vendors,
                const vendors::PolicyDefaults& defaults) {
  return Scene(scenario, vendors, defaults).compare();
}

}  // namespace tessera::golden
