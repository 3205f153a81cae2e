#include "sim/scenario_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policies/registry.h"
#include "sim/scenario_cards.h"

namespace tessera::sim {
namespace {

std::string resource_of(std::string_view short_name) {
  if (short_name == "gpu") return "nvidia.com/gpu";
  if (short_name == "mem") return "nvidia.com/gpumem";
  if (short_name == "mem%") return "nvidia.com/gpumem-percentage";
  if (short_name == "cores") return "nvidia.com/gpucores";
  if (short_name == "cpu" || short_name == "memory") return std::string(short_name);
  if (short_name.find('/') != std::string_view::npos) return std::string(short_name);
  return {};
}

/// Words of a pod that stand outside its containers; false: none of them.
Result<bool> pod_property(const Line& line, const KeyValue& kv, ScenarioPod& pod) {
  if (kv.key.front() == '@') {
    pod.annotations.emplace_back(kv.key.substr(1), kv.value);
  } else if (kv.key == "class") {
    pod.priority_class = kv.value;
  } else if (kv.key == "deadline") {
    const Result<std::int64_t> seconds = whole(line, kv);
    if (!seconds) return tl::unexpected(seconds.error());
    pod.deadline_seconds = *seconds;
  } else if (kv.key == "node-policy" || kv.key == "device-policy") {
    const bool of_nodes = kv.key == "node-policy";
    pod.annotations.emplace_back(
        of_nodes ? "hami.io/node-scheduler-policy" : "hami.io/gpu-scheduler-policy", kv.value);
    if (Status s = PodLines::check_policy(line, of_nodes, kv.value); !s)
      return tl::unexpected(s.error());
  } else {
    return false;
  }
  return true;
}

Status pod_word(const Line& line, const std::string& word, ScenarioPod& pod, bool in_container) {
  if (word == "init-done") {
    pod.init_done = true;
    return {};
  }
  const std::optional<KeyValue> kv = key_value(word);
  if (!kv) return line.wrong("do not understand", word);
  const Result<bool> property = pod_property(line, *kv, pod);
  if (!property) return tl::unexpected(property.error());
  if (*property) return {};
  const std::string resource = resource_of(kv->key);
  if (resource.empty() || !in_container)
    return line.wrong(
        "not a resource of a container (gpu, mem, mem%, cores, cpu, memory, domain/name):", word);
  pod.containers.back().limits.emplace_back(resource, kv->value);
  return {};
}

/// card0, card0:8192:25 or card0@1g.10gb:6
Result<ScenarioPod::Held> held_card(const Line& line, ScenarioNode& node, const std::string& word) {
  ScenarioPod::Held held;
  const std::size_t at = word.find('@');
  const std::vector<std::string_view> pieces = text::split(word, ':');
  const core::Device* device = find_card(node, word.substr(0, word.find_first_of("@:")));
  if (device == nullptr) return line.wrong(fmt::format("not a card of {}:", node.name), word);
  held.id = device->id;
  if (pieces.size() == 1 && at == std::string::npos) return held;
  const auto number = [&](std::size_t i) -> Result<std::int64_t> {
    if (i >= pieces.size())
      return line.wrong("wants CARD:MEM:CORES or CARD@PROFILE:START, got", word);
    return whole(line, {word, std::string(pieces[i])});
  };
  const Result<std::int64_t> first = number(1);
  if (!first) return tl::unexpected(first.error());
  if (at != std::string::npos) {
    held.profile = std::string(pieces[0].substr(at + 1));
    held.start = static_cast<std::uint32_t>(*first);
    return held;
  }
  const Result<std::int64_t> second = number(2);
  if (!second) return tl::unexpected(second.error());
  held.memory = *first;
  held.cores = *second;
  return held;
}

}  // namespace

bool PodLines::named(std::string_view pod) const {
  return std::find(names_.begin(), names_.end(), pod) != names_.end();
}

Status PodLines::check_policy(const Line& line, bool of_nodes, const std::string& value) {
  if (of_nodes) {
    const auto chain = policies::parse_node_chain(value);
    return chain ? Status() : line.wrong("node policy: " + chain.error().what);
  }
  if (const auto chain = policies::parse_device_chain(value); !chain)
    return line.wrong(chain.error().what);
  return {};
}

Result<ScenarioPod> PodLines::pod(Line& line) {
  ScenarioPod pod{.name = line.take()};
  if (pod.name.empty()) return line.wrong("a pod wants a name");
  if (named(pod.name)) return line.wrong("pod named twice:", pod.name);
  const bool braces = line.take_if("{");
  bool open = braces;
  pod.containers.emplace_back();
  while (!line.done() && line.peek() != "->") {
    const std::string word = line.take();
    if (open && word == "}") {
      open = false;
    } else if (open && word == ";") {
      pod.containers.emplace_back();
    } else if (open && (word == "app" || word == "init" || word == "sidecar")) {
      pod.containers.back().kind = word;
    } else if (Status s = pod_word(line, word, pod, open || !braces); !s) {
      return tl::unexpected(s.error());
    }
  }
  if (open) return line.wrong("closing } missing in pod", pod.name);
  const bool ordered = std::is_partitioned(pod.containers.begin(), pod.containers.end(),
                                           [](const auto& c) { return c.kind != "app"; });
  if (!ordered)
    return line.wrong("init and sidecar containers come before app containers in pod", pod.name);
  names_.push_back(pod.name);
  return pod;
}

Status PodLines::cards(Line& line, ScenarioNode& node, ScenarioPod& pod) const {
  pod.cards.emplace_back();
  while (!line.done()) {
    const std::string word = line.take();
    if (word == "-") continue;
    if (word == ";") {
      pod.cards.emplace_back();
      continue;
    }
    Result<ScenarioPod::Held> held = held_card(line, node, word);
    if (!held) return tl::unexpected(held.error());
    pod.cards.back().push_back(std::move(*held));
  }
  if (pod.cards.size() == pod.containers.size()) return {};
  return line.wrong(
      fmt::format("{} containers but cards for {} of pod", pod.containers.size(), pod.cards.size()),
      pod.name);
}

Result<ScenarioQuota> quota_words(Line& line) {
  ScenarioQuota quota{.name = line.take()};
  if (quota.name.empty()) return line.wrong("quota wants a name");
  while (!line.done()) {
    const std::string word = line.take();
    const std::optional<KeyValue> kv = key_value(word);
    if (!kv) return line.wrong("quota wants RESOURCE=AMOUNT, scope= or class=, got", word);
    if (kv->key == "scope") {
      quota.scopes.push_back(kv->value);
    } else if (kv->key == "class") {
      quota.priority_classes.push_back(kv->value);
    } else if (const std::string resource = resource_of(kv->key);
               !resource.empty() && kv->key.find('/') == std::string::npos) {
      quota.hard.emplace_back("limits." + resource, kv->value);
    } else {
      quota.hard.emplace_back(kv->key, kv->value);
    }
  }
  return quota;
}

}  // namespace tessera::sim
