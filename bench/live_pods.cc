#include "live_pods.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"
#include "http_load.h"
#include "json/reader.h"
#include "sim/scenario_objects.h"
#include "stage.h"

namespace tessera::bench {
namespace {

struct Held {
  std::int64_t pods = 0, memory = 0, cores = 0;
};

class CardBooks {
 public:
  explicit CardBooks(const sim::SyntheticCluster& cluster)
      : limits_(cluster.options().cards.front()) {
    for (std::int64_t n = 0; n < cluster.options().nodes; ++n)
      for (const core::Device& card : cluster.cards_of(n)) node_of_[card.id] = cluster.node_name(n);
  }

  Status take(const LivePod& pod, std::string_view node, std::string_view device_text) {
    std::set<std::string, std::less<>> cards;
    for (const std::string_view container : text::split(device_text, ';')) {
      for (const std::string_view piece : text::split(container, ':')) {
        if (text::trim(piece).empty()) continue;
        const auto parts = text::split(piece, ',');
        if (parts.size() < 4) return wrong(pod, device_text, "is not ID,WORD,MEMORY,CORES");
        if (Status status = take_card(pod, node, parts); !status) return status;
        if (!cards.emplace(parts[0]).second) return wrong(pod, device_text, "has a card twice");
      }
    }
    if (static_cast<std::int64_t>(cards.size()) != pod.ask.cards)
      return wrong(pod, device_text, fmt::format("is not {} cards", pod.ask.cards));
    return {};
  }

 private:
  static Status wrong(const LivePod& pod, std::string_view what, std::string_view why) {
    return fail(Code::kInternal, fmt::format("pod {}: \"{}\" {}", pod.name, what, why));
  }

  Status take_card(const LivePod& pod, std::string_view node,
                   const std::vector<std::string_view>& parts) {
    const auto found = node_of_.find(parts[0]);
    if (found == node_of_.end() || found->second != node)
      return wrong(pod, parts[0], fmt::format("is no card of {}", node));
    const auto memory = text::parse_int(parts[2], 64), cores = text::parse_int(parts[3], 64);
    if (!memory || *memory != pod.ask.memory) return wrong(pod, parts[2], "is not its memory");
    if (!cores || *cores != pod.ask.cores) return wrong(pod, parts[3], "is not its cores");
    Held& held = held_[found->first];
    held.pods += 1;
    held.memory += *memory;
    held.cores += *cores;
    if (held.pods <= limits_.slots && held.memory <= limits_.memory && held.cores <= limits_.cores)
      return {};
    return wrong(pod, parts[0],
                 fmt::format("is over its limits: {} pods, {} MiB, {} cores", held.pods,
                             held.memory, held.cores));
  }

  const sim::SyntheticCards limits_;
  std::map<std::string, std::string, std::less<>> node_of_;
  std::map<std::string, Held> held_;
};

Status check_pod(const LivePod& pod, json::Value object, const std::string& chosen,
                 CardBooks& books) {
  const std::string_view node = object["spec"]["nodeName"].string_or("");
  if (node.empty() || node != chosen)
    return fail(Code::kInternal,
                fmt::format("pod {} is on \"{}\", the filter named {}", pod.name, node, chosen));
  return books.take(
      pod, node, object["metadata"]["annotations"]["hami.io/vgpu-devices-allocated"].string_or(""));
}

}  // namespace

Result<std::vector<LivePod>> create_pods(const LiveCluster& cluster, const std::string& prefix,
                                         const std::vector<PodAsk>& asks,
                                         const PodPolicies& policies) {
  auto client = LoadClient::connect(cluster.port());
  if (!client) return tl::unexpected(client.error());
  sim::Scenario scenario;
  scenario.node_policy = policies.node;
  scenario.device_policy = policies.device;
  json::Parser parser;
  std::vector<LivePod> pods;
  for (const PodAsk& ask : asks) {
    LivePod pod{
        .name = fmt::format("{}-{}", prefix, pods.size()), .uid = {}, .object = {}, .ask = ask};
    auto made = (*client)->exchange(
        post(kPods, sim::pod_object(scenario, cluster.made().asking_pod(pod.name, ask), "")));
    if (!made) return tl::unexpected(made.error());
    const auto object = parser.parse(made->body);
    if (made->status != 201 || !object)
      return fail(Code::kInternal, fmt::format("create {}: {}", pod.name, made->body));
    pod.uid = (*object)["metadata"]["uid"].string_or("");
    pod.object = std::move(made->body);
    pods.push_back(std::move(pod));
  }
  return pods;
}

Status check_placements(const LiveCluster& cluster, const std::vector<LivePod>& pods,
                        const std::map<std::string, std::string>& nodes) {
  auto client = LoadClient::connect(cluster.port());
  if (!client) return tl::unexpected(client.error());
  const auto list = (*client)->exchange(get(kPods));
  if (!list) return tl::unexpected(list.error());
  if (list->status != 200)
    return fail(Code::kInternal, fmt::format("list of the pods: code {}", list->status));
  return check_placements(cluster.made(), list->body, pods, nodes);
}

Status check_placements(const sim::SyntheticCluster& cluster, std::string_view list,
                        const std::vector<LivePod>& pods,
                        const std::map<std::string, std::string>& nodes) {
  json::Parser parser;
  const auto read = parser.parse(list);
  if (!read) return tl::unexpected(read.error());
  std::map<std::string, json::Value, std::less<>> objects;
  (*read)["items"].for_each_element([&](json::Value object) {
    objects.emplace(object["metadata"]["name"].string_or(""), object);
  });
  CardBooks books(cluster);
  for (const LivePod& pod : pods) {
    const auto object = objects.find(pod.name);
    const auto chosen = nodes.find(pod.name);
    if (object == objects.end() || chosen == nodes.end())
      return fail(Code::kInternal, fmt::format("pod {} is not bound", pod.name));
    if (Status status = check_pod(pod, object->second, chosen->second, books); !status)
      return status;
  }
  return {};
}

}  // namespace tessera::bench
