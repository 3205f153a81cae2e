#include "scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/place.h"
#include "json/reader.h"
#include "k8s/decode.h"
#include "texts.h"
#include "worse.h"

namespace tessera::golden {
namespace {

using Json = nlohmann::json;

std::string words(const k8s::StringMap& texts) {
  Json object = Json::object();
  for (const auto& [key, text] : texts) object[std::string(key)] = text;
  return object.dump();
}

/// Every text that HAMi wrote about devices is the same as ours under that key.
bool same_texts(const k8s::StringMap& ours, const Json& wrote) {
  for (const auto& [key, text] : wrote.items()) {
    if (!is_compared(key)) continue;
    const std::string* mine = k8s::find(ours, key);
    if (mine == nullptr) {
      // HAMi pads the texts of every vendor that the node has, we write those that the pod uses.
      if (says_nothing(text.get<std::string>())) continue;
      return false;
    }
    if (comparable(key, *mine) != comparable(key, text.get<std::string>())) return false;
  }
  return true;
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
    if (!demand) return compare_error(demand.error().what);
    if (!demand->request.asks_devices()) return compare_other_pod();
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
      const Json object = {
          {"metadata",
           {{"name", node["name"]},
            {"annotations", node["annotations"]},
            {"labels", node["labels"]}}},
          {"status", {{"allocatable", node["allocatable"]}, {"capacity", node["allocatable"]}}}};
      json::Parser parser;
      const auto value = parser.parse(object.dump());
      const auto decoded = value ? k8s::decode_node(*value, vendors_.keep())
                                 : Result<k8s::Node>(tl::unexpected(value.error()));
      if (!decoded) return decoded.error().what;
      // A bad annotation costs the vendor's devices on that node, here as in HAMi.
      cluster_.set_node(vendors_.read_node(*decoded).spec);
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

  /// No device pod: every node passes and nothing is written.
  Comparison compare_other_pod() const {
    Comparison c;
    c.placed = true;
    c.detail = "ours: not a device pod";
    for (const Json& answer : scenario_["answers"]) {
      c.detail += fmt::format("\n    HAMi {} {}", answer["nodes"].dump(), answer["wrote"].dump());
      c.fit = answer["nodes"] == scenario_["candidates"];
      c.node = c.devices = answer["wrote"].empty();
    }
    return c;
  }

  /// The pod cannot be decided on at all: HAMi must have answered an error, too.
  Comparison compare_error(const std::string& what) const {
    Comparison c;
    c.detail = fmt::format("ours: {}", what);
    for (const Json& answer : scenario_["answers"]) {
      const std::string theirs = answer["error"];
      c.detail += fmt::format("\n    HAMi {} {}", theirs, answer["nodes"].dump());
      if (theirs.empty()) continue;
      c.fit = true;
      c.reasons = c.reasons || theirs == what;
    }
    return c;
  }

  Comparison compare_placed(const core::Decision& decision, const core::Request& request) {
    Comparison c;
    c.placed = true;
    const std::string node = cluster_.node(decision.node).spec.name;
    const auto ours = vendors_.encode(decision.allocation, {});
    c.every_position = one_entry_per_position(ours, request.positions.size());
    c.detail = fmt::format("ours {} {}", node, words(ours));
    bool equal_elsewhere = false;
    for (const Json& answer : scenario_["answers"]) {
      if (answer["nodes"].empty()) {
        c.detail += fmt::format("\n    HAMi refuses: {} {}", answer["reasons"].dump(),
                                answer["error"].get<std::string>());
        continue;
      }
      c.fit = true;
      const std::string their_node = answer["nodes"][0];
      c.detail += fmt::format("\n    HAMi {} {}", their_node, answer["wrote"].dump());
      if (request.mode == core::ScoreMode::kCorrected) {
        c.not_worse = c.not_worse && at_least_as_good(request, decision, answer);
      } else if (their_node != node) {
        equal_elsewhere = equal_elsewhere || scores_the_same(request, decision, their_node);
      }
      if (their_node != node) continue;
      c.node = true;
      c.devices = c.devices || same_texts(ours, answer["wrote"]);
    }
    // HAMi leaves it to chance which of equal nodes wins; five calls do not show them all.
    if (!c.node && equal_elsewhere) c.node = c.devices = true;
    return c;
  }

  bool one_entry_per_position(const k8s::StringMap& ours, std::size_t positions) const {
    return std::all_of(
        vendors_.all().begin(), vendors_.all().end(), [&](const vendors::Vendor& vendor) {
          const std::string* text = k8s::find(ours, vendor.allocated_key);
          return text == nullptr ||
                 static_cast<std::size_t>(std::count(text->begin(), text->end(), ';')) == positions;
        });
  }

  bool scores_the_same(const core::Request& request, const core::Decision& decision,
                       const std::string& their_node) const {
    const core::Fit there = core::fit_node(cluster_, request, cluster_.find_node(their_node));
    return there.allocation && there.key == decision.key;
  }

  bool at_least_as_good(const core::Request& request, const core::Decision& decision,
                        const Json& answer) {
    Json pod = scenario_["pod"];
    pod["annotations"] = answer["wrote"];
    const auto decided = pod_of(pod, "uid-theirs", answer["nodes"][0].get<std::string>());
    if (!decided) return false;
    const auto theirs = vendors_.decode(*decided);
    return theirs && not_worse(cluster_, request, decision, *theirs);
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
                                answer["wrote"].dump());
        continue;
      }
      c.fit = true;
      c.detail += fmt::format("\n    HAMi refuses: {} {}", answer["reasons"].dump(),
                              answer["error"].get<std::string>());
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
