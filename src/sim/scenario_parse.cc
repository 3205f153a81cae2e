// The line grammar of scenario files; docs/scenarios.md describes it for readers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policies/registry.h"
#include "sim/scenario.h"
#include "sim/scenario_line.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t kDefaultSlots = 10;

/// What `node` and `card` lines say of one card. False: not a property of cards.
Result<bool> set_card_property(const Line& line, std::string_view word, core::Device& device) {
  if (word == "unhealthy") {
    device.healthy = false;
    return true;
  }
  const std::optional<KeyValue> kv = key_value(word);
  if (!kv) return false;
  if (kv->key == "model" || kv->key == "mode") {
    (kv->key == "model" ? device.model : device.mode) = kv->value;
    return true;
  }
  const bool numeric =
      kv->key == "mem" || kv->key == "cores" || kv->key == "count" || kv->key == "numa";
  if (!numeric) return false;
  const Result<std::int64_t> value = whole(line, *kv);
  if (!value) return tl::unexpected(value.error());
  if (kv->key == "mem") device.memory = {*value};
  if (kv->key == "cores") device.cores = {*value};
  if (kv->key == "count") device.slots = *value;
  if (kv->key == "numa") device.numa = *value;
  return true;
}

std::string resource_of(std::string_view short_name) {
  if (short_name == "gpu") return "nvidia.com/gpu";
  if (short_name == "mem") return "nvidia.com/gpumem";
  if (short_name == "mem%") return "nvidia.com/gpumem-percentage";
  if (short_name == "cores") return "nvidia.com/gpucores";
  if (short_name == "cpu" || short_name == "memory") return std::string(short_name);
  if (short_name.find('/') != std::string_view::npos) return std::string(short_name);
  return {};
}

class ScenarioParser {
 public:
  explicit ScenarioParser(std::string file) { out_.file = std::move(file); }

  Result<Scenario> run(std::string_view input) {
    int number = 0;
    for (const std::string_view raw : text::split(input, '\n')) {
      ++number;
      line_ = number;
      if (Status s = one_line(raw); !s) return tl::unexpected(s.error());
    }
    Result<Line> end = Line::split("", fmt::format("{}:{}", out_.file, number));
    if (out_.nodes.empty()) return end->wrong("no node line");
    if (out_.steps.empty()) return end->wrong("no pod line");
    if (awaiting_) return end->wrong("an expect line must follow pod", *awaiting_);
    return std::move(out_);
  }

 private:
  Status one_line(std::string_view raw) {
    const std::string where = fmt::format("{}:{}", out_.file, line_);
    const std::string_view trimmed = text::trim(raw);
    if (trimmed.substr(0, 5) == "name:") {
      out_.name = std::string(text::trim(trimmed.substr(5)));
      return {};
    }
    Result<Line> line = Line::split(raw, where);
    if (!line) return tl::unexpected(line.error());
    if (line->done()) return {};
    const std::string word = line->take();
    if (awaiting_ && word != "expect")
      return line->wrong("an expect line must follow the pod line, found", word);
    Status done = dispatch(word, *line);
    if (done && !line->done()) return line->wrong("do not understand", line->peek());
    return done;
  }

  Status dispatch(std::string_view word, Line& line) {
    if (word == "case") return case_line(line);
    if (word == "node") return node_line(line);
    if (word == "card") return card_line(line);
    if (word == "cordon") return cordon_line(line);
    if (word == "run") return run_line(line);
    if (word == "policy") return policy_line(line);
    if (word == "pod") return pod_line(line);
    if (word == "expect") return expect_line(line);
    if (word == "because") return because_line(line);
    if (word == "delete") return end_line(line, ScenarioStep::Kind::kDelete);
    if (word == "finish") return end_line(line, ScenarioStep::Kind::kFinish);
    return line.wrong(
        "a line begins with name:, case, node, card, cordon, run, policy, pod, expect, because, "
        "finish or delete, not",
        word);
  }

  Status case_line(Line& line) {
    if (line.done()) return line.wrong("case wants a number");
    while (!line.done()) {
      const std::string word = line.take();
      const Result<std::int64_t> number = text::parse_int(word, 16);
      if (!number || *number <= 0) return line.wrong("case wants a number, got", word);
      out_.cases.push_back(static_cast<int>(*number));
    }
    return {};
  }

  /// node NAME [MODEL xN] [mem= cores= count= mode= numa=0,0,1 ids=PREFIX] [unhealthy]
  /// [not-offered] [unregistered]
  Status node_line(Line& line) {
    ScenarioNode node{.name = line.take()};
    if (node.name.empty()) return line.wrong("node wants a name");
    if (find_node(node.name) != nullptr) return line.wrong("node named twice:", node.name);
    core::Device pattern{.slots = kDefaultSlots,
                         .memory = {16384},
                         .cores = {100},
                         .mode = "hami-core",
                         .healthy = true,
                         .vendor = {0}};
    std::string prefix = node.name + "-card";
    std::vector<std::int64_t> numa;
    std::int64_t cards = 0;
    while (!line.done()) {
      const std::string word = line.take();
      if (word == "unregistered") {
        node.registered = false;
      } else if (word == "not-offered") {
        node.offered = false;
      } else if (word.substr(0, 4) == "ids=") {
        prefix = word.substr(4);
      } else if (word.substr(0, 5) == "numa=") {
        if (Status s = numa_list(line, word.substr(5), numa); !s) return s;
      } else if (Result<bool> known = set_card_property(line, word, pattern); !known) {
        return tl::unexpected(known.error());
      } else if (!*known) {
        if (!pattern.model.empty()) return line.wrong("do not understand", word);
        pattern.model = word;
        if (Status s = card_count(line, cards); !s) return s;
      }
    }
    if (cards == 0 && node.registered)
      return line.wrong("node wants a model and xN, or unregistered:", node.name);
    add_cards(node, pattern, prefix, numa, cards);
    out_.nodes.push_back(std::move(node));
    return {};
  }

  static Status card_count(Line& line, std::int64_t& cards) {
    const std::string word = line.take();
    const Result<std::int64_t> value = word.substr(0, 1) == "x"
                                           ? text::parse_int(std::string_view(word).substr(1), 16)
                                           : fail(Code::kInvalid, "");
    if (!value || *value < 1 || *value > 1024)
      return line.wrong("the number of cards is written xN with N from 1 to 1024, got", word);
    cards = *value;
    return {};
  }

  static Status numa_list(const Line& line, const std::string& value,
                          std::vector<std::int64_t>& numa) {
    for (const std::string_view piece : text::split(value, ',')) {
      const Result<std::int64_t> n = whole(line, {"numa", std::string(piece)});
      if (!n) return tl::unexpected(n.error());
      numa.push_back(*n);
    }
    return {};
  }

  static void add_cards(ScenarioNode& node, core::Device pattern, const std::string& prefix,
                        const std::vector<std::int64_t>& numa, std::int64_t cards) {
    for (std::int64_t i = 0; i < cards; ++i) {
      pattern.id = fmt::format("{}{}", prefix, i);
      pattern.index = static_cast<std::uint32_t>(i);
      if (!numa.empty())
        pattern.numa = numa[std::min(static_cast<std::size_t>(i), numa.size() - 1)];
      node.devices.push_back(pattern);
    }
  }

  /// card NODE CARD... property...
  Status card_line(Line& line) {
    ScenarioNode* node = find_node(line.peek());
    if (node == nullptr) return line.wrong("no node line for", line.peek());
    line.take();
    std::vector<core::Device*> chosen;
    bool changed = false;
    while (!line.done()) {
      const std::string word = line.take();
      if (core::Device* device = find_card(*node, word); device != nullptr && !changed) {
        chosen.push_back(device);
        continue;
      }
      bool known = false;
      for (core::Device* device : chosen) {
        const Result<bool> set = set_card_property(line, word, *device);
        if (!set) return tl::unexpected(set.error());
        known = *set;
      }
      if (!known)
        return line.wrong(fmt::format("neither a card of {} nor a property:", node->name), word);
      changed = true;
    }
    return changed ? Status{} : Status(line.wrong("card wants node, cards and properties"));
  }

  Status cordon_line(Line& line) {
    ScenarioNode* node = find_node(line.peek());
    if (node == nullptr) return line.wrong("no node line for", line.peek());
    line.take();
    if (line.done()) return line.wrong("cordon wants cards of", node->name);
    while (!line.done()) {
      const core::Device* device = find_card(*node, line.peek());
      if (device == nullptr)
        return line.wrong(fmt::format("not a card of {}:", node->name), line.peek());
      node->cordoned.push_back(device->id);
      line.take();
    }
    return {};
  }

  Status policy_line(Line& line) {
    if (line.done()) return line.wrong("policy wants node= or device=");
    while (!line.done()) {
      const std::string word = line.take();
      const std::optional<KeyValue> kv = key_value(word);
      if (!kv || (kv->key != "node" && kv->key != "device"))
        return line.wrong("policy wants node= or device=, got", word);
      if (Status s = check_policy(line, kv->key == "node", kv->value); !s) return s;
      (kv->key == "node" ? out_.node_policy : out_.device_policy) = kv->value;
    }
    return {};
  }

  static Status check_policy(const Line& line, bool of_nodes, const std::string& value) {
    if (of_nodes && policies::find_node_policy(value) == nullptr)
      return line.wrong("unknown node policy", value);
    if (of_nodes) return {};
    if (const auto chain = policies::parse_device_chain(value); !chain)
      return line.wrong(chain.error().what);
    return {};
  }

  /// NAME followed by one container's resources, or { container ; container } ; annotations
  /// anywhere.
  Result<ScenarioPod> pod_words(Line& line) {
    ScenarioPod pod{.name = line.take()};
    if (pod.name.empty()) return line.wrong("a pod wants a name");
    if (std::find(pods_.begin(), pods_.end(), pod.name) != pods_.end())
      return line.wrong("pod named twice:", pod.name);
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
    pods_.push_back(pod.name);
    return pod;
  }

  static Status pod_word(const Line& line, const std::string& word, ScenarioPod& pod,
                         bool in_container) {
    const std::optional<KeyValue> kv = key_value(word);
    if (!kv) return line.wrong("do not understand", word);
    if (kv->key.front() == '@') {
      pod.annotations.emplace_back(kv->key.substr(1), kv->value);
      return {};
    }
    if (kv->key == "node-policy" || kv->key == "device-policy") {
      pod.annotations.emplace_back(kv->key == "node-policy" ? "hami.io/node-scheduler-policy"
                                                            : "hami.io/gpu-scheduler-policy",
                                   kv->value);
      return check_policy(line, kv->key == "node-policy", kv->value);
    }
    const std::string resource = resource_of(kv->key);
    if (resource.empty() || !in_container)
      return line.wrong(
          "not a resource of a container (gpu, mem, mem%, cores, cpu, memory, domain/name):", word);
    pod.containers.back().limits.emplace_back(resource, kv->value);
    return {};
  }

  /// run NAME ... -> NODE CARD... [; CARD...]   ('-' = a container without cards)
  Status run_line(Line& line) {
    if (!out_.steps.empty()) return line.wrong("run lines come before the first pod line");
    Result<ScenarioPod> pod = pod_words(line);
    if (!pod) return tl::unexpected(pod.error());
    if (!line.take_if("->")) return line.wrong("run wants -> NODE CARD after pod", pod->name);
    ScenarioNode* node = find_node(line.peek());
    if (node == nullptr) return line.wrong("no node line for", line.peek());
    pod->node = line.take();
    pod->cards.emplace_back();
    while (!line.done()) {
      const std::string word = line.take();
      if (word == "-") continue;
      if (word == ";") {
        pod->cards.emplace_back();
        continue;
      }
      const core::Device* device = find_card(*node, word);
      if (device == nullptr) return line.wrong(fmt::format("not a card of {}:", node->name), word);
      pod->cards.back().push_back(device->id);
    }
    if (pod->cards.size() != pod->containers.size()) {
      return line.wrong(fmt::format("{} containers but cards for {} of pod", pod->containers.size(),
                                    pod->cards.size()),
                        pod->name);
    }
    out_.running.push_back(std::move(*pod));
    return {};
  }

  Status pod_line(Line& line) {
    Result<ScenarioPod> pod = pod_words(line);
    if (!pod) return tl::unexpected(pod.error());
    awaiting_ = pod->name;
    out_.steps.push_back({.kind = ScenarioStep::Kind::kPod, .pod = std::move(*pod), .line = line_});
    return {};
  }

  /// expect NAME on NODE [CARD...] [text=DEVICE-TEXT]  |  expect NAME nowhere
  Status expect_line(Line& line) {
    ScenarioStep step{.name = line.take(), .line = line_};
    if (!awaiting_ || step.name != *awaiting_)
      return line.wrong("expect must follow the line of its pod:", step.name);
    awaiting_.reset();
    if (line.take_if("nowhere")) {
      step.kind = ScenarioStep::Kind::kExpectNowhere;
    } else if (line.take_if("on")) {
      step.kind = ScenarioStep::Kind::kExpectOn;
      if (Status s = expected_place(line, step); !s) return s;
    } else {
      return line.wrong("expect wants on NODE or nowhere, got", line.peek());
    }
    out_.steps.push_back(std::move(step));
    return {};
  }

  Status expected_place(Line& line, ScenarioStep& step) {
    ScenarioNode* node = find_node(line.peek());
    if (node == nullptr) return line.wrong("no node line for", line.peek());
    step.node = line.take();
    while (!line.done()) {
      const std::string word = line.take();
      if (word.substr(0, 5) == "text=") {
        step.device_text = word.substr(5);
        continue;
      }
      const core::Device* device = find_card(*node, word);
      if (device == nullptr) return line.wrong(fmt::format("not a card of {}:", node->name), word);
      step.cards.push_back(device->id);
    }
    return {};
  }

  /// because NODE: reason as in the answer
  Status because_line(Line& line) {
    if (out_.steps.empty() || out_.steps.back().kind != ScenarioStep::Kind::kExpectNowhere)
      return line.wrong("because must follow expect … nowhere");
    std::string node = line.take();
    if (node.empty() || node.back() != ':')
      return line.wrong("because wants NODE: and a reason, got", node);
    node.pop_back();
    if (find_node(node) == nullptr) return line.wrong("no node line for", node);
    std::string reason = line.rest();
    if (reason.empty()) return line.wrong("because wants a reason for", node);
    out_.steps.back().reasons.emplace_back(std::move(node), std::move(reason));
    return {};
  }

  Status end_line(Line& line, ScenarioStep::Kind kind) {
    ScenarioStep step{.kind = kind, .name = line.take(), .line = line_};
    if (std::find(pods_.begin(), pods_.end(), step.name) == pods_.end())
      return line.wrong("no run or pod line for", step.name);
    out_.steps.push_back(std::move(step));
    return {};
  }

  ScenarioNode* find_node(std::string_view name) {
    const auto it = std::find_if(out_.nodes.begin(), out_.nodes.end(),
                                 [&](const ScenarioNode& n) { return n.name == name; });
    return it == out_.nodes.end() ? nullptr : &*it;
  }
  /// By id, or as cardN.
  static core::Device* find_card(ScenarioNode& node, std::string_view word) {
    for (core::Device& device : node.devices) {
      if (device.id == word || fmt::format("card{}", device.index) == word) return &device;
    }
    return nullptr;
  }

  Scenario out_;
  std::vector<std::string> pods_;
  std::optional<std::string> awaiting_;
  int line_ = 0;
};

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, std::string file) {
  return ScenarioParser(std::move(file)).run(text);
}

}  // namespace tessera::sim
