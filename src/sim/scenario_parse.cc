// The line grammar of scenario files; docs/scenarios.md describes it for readers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/scenario_cards.h"
#include "sim/scenario_line.h"
#include "sim/scenario_nodes.h"
#include "sim/scenario_pods.h"

namespace tessera::sim {
namespace {

using Kind = ScenarioStep::Kind;

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
    struct Row {
      std::string_view word;
      Status (ScenarioParser::*read)(Line&);
    };
    static constexpr Row kRows[] = {
        {"case", &ScenarioParser::case_line},       {"selector", &ScenarioParser::selector_line},
        {"score-mode", &ScenarioParser::mode_line}, {"node", &ScenarioParser::node_line},
        {"also", &ScenarioParser::also_line},       {"card", &ScenarioParser::card_line},
        {"cordon", &ScenarioParser::cordon_line},   {"uncordon", &ScenarioParser::uncordon_line},
        {"links", &ScenarioParser::links_line},     {"change", &ScenarioParser::change_line},
        {"lost", &ScenarioParser::lost_line},       {"back", &ScenarioParser::back_line},
        {"quota", &ScenarioParser::quota_line},     {"no-quota", &ScenarioParser::no_quota_line},
        {"run", &ScenarioParser::run_line},         {"policy", &ScenarioParser::policy_line},
        {"pod", &ScenarioParser::pod_line},         {"expect", &ScenarioParser::expect_line},
        {"because", &ScenarioParser::because_line}, {"init-done", &ScenarioParser::init_done_line},
        {"finish", &ScenarioParser::finish_line},   {"delete", &ScenarioParser::delete_line},
        {"restart", &ScenarioParser::restart_line},
    };
    std::string known = "name:";
    for (const Row& row : kRows) {
      if (row.word == word) return (this->*row.read)(line);
      known += fmt::format("{} {}", &row == std::end(kRows) - 1 ? " or" : ",", row.word);
    }
    return line.wrong(fmt::format("a line begins with {}, not", known), word);
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

  /// How the server is started: before anything happens.
  Status selector_line(Line& line) {
    if (!key_value(line.peek())) return line.wrong("selector wants KEY=VALUE, got", line.peek());
    out_.selector = line.take();
    return {};
  }
  Status mode_line(Line& line) {
    out_.score_mode = line.take();
    if (out_.score_mode == "hami" || out_.score_mode == "corrected") return {};
    return line.wrong("score-mode wants hami or corrected, got", out_.score_mode);
  }

  /// Before the first pod a node is part of the picture, later it is something that happens.
  Status node_is(const Result<ScenarioNode*>& node) {
    if (!node) return tl::unexpected(node.error());
    if (!out_.steps.empty()) {
      out_.steps.push_back(
          {.kind = Kind::kNode, .node_is = **node, .name = (*node)->name, .line = line_});
      return {};
    }
    const auto known = std::find_if(out_.nodes.begin(), out_.nodes.end(),
                                    [&](const auto& n) { return n.name == (*node)->name; });
    if (known == out_.nodes.end()) {
      out_.nodes.push_back(**node);
    } else {
      *known = **node;
    }
    return {};
  }
  Status node_line(Line& line) { return node_is(nodes_.node(line)); }
  Status also_line(Line& line) { return node_is(nodes_.also(line)); }
  Status card_line(Line& line) { return node_is(nodes_.card(line)); }
  Status cordon_line(Line& line) { return node_is(nodes_.cordon(line)); }
  Status uncordon_line(Line& line) { return node_is(nodes_.uncordon(line)); }
  Status links_line(Line& line) { return node_is(nodes_.links(line)); }
  Status change_line(Line& line) { return node_is(nodes_.change(line)); }
  Status back_line(Line& line) { return node_is(nodes_.named(line)); }
  Status lost_line(Line& line) {
    const Result<ScenarioNode*> node = nodes_.named(line);
    if (!node) return tl::unexpected(node.error());
    return add(line, {.kind = Kind::kNodeGone, .name = (*node)->name});
  }

  Status quota_line(Line& line) {
    Result<ScenarioQuota> quota = quota_words(line);
    if (!quota) return tl::unexpected(quota.error());
    if (out_.steps.empty()) {
      out_.quotas.push_back(std::move(*quota));
    } else {
      const std::string name = quota->name;
      out_.steps.push_back(
          {.kind = Kind::kQuota, .quota = std::move(*quota), .name = name, .line = line_});
    }
    return {};
  }
  Status no_quota_line(Line& line) {
    return add(line, {.kind = Kind::kQuotaGone, .name = line.take()});
  }

  /// Something that happens; it makes sense only after the first pod.
  Status add(const Line& line, ScenarioStep step) {
    if (out_.steps.empty()) return line.wrong("nothing happens before the first pod line");
    step.line = line_;
    out_.steps.push_back(std::move(step));
    return {};
  }

  Status policy_line(Line& line) {
    if (line.done()) return line.wrong("policy wants node= or device=");
    while (!line.done()) {
      const std::string word = line.take();
      const std::optional<KeyValue> kv = key_value(word);
      if (!kv || (kv->key != "node" && kv->key != "device"))
        return line.wrong("policy wants node= or device=, got", word);
      if (Status s = PodLines::check_policy(line, kv->key == "node", kv->value); !s) return s;
      (kv->key == "node" ? out_.node_policy : out_.device_policy) = kv->value;
    }
    return {};
  }

  /// run NAME ... -> NODE CARD... [; CARD...]
  Status run_line(Line& line) {
    if (!out_.steps.empty()) return line.wrong("run lines come before the first pod line");
    Result<ScenarioPod> pod = pods_.pod(line);
    if (!pod) return tl::unexpected(pod.error());
    if (!line.take_if("->")) return line.wrong("run wants -> NODE CARD after pod", pod->name);
    const Result<ScenarioNode*> node = nodes_.named(line);
    if (!node) return tl::unexpected(node.error());
    pod->node = (*node)->name;
    if (Status s = pods_.cards(line, **node, *pod); !s) return s;
    out_.running.push_back(std::move(*pod));
    return {};
  }

  Status pod_line(Line& line) {
    Result<ScenarioPod> pod = pods_.pod(line);
    if (!pod) return tl::unexpected(pod.error());
    awaiting_ = pod->name;
    const std::string name = pod->name;
    out_.steps.push_back({.kind = Kind::kPod, .pod = std::move(*pod), .name = name, .line = line_});
    return {};
  }

  /// expect NAME on NODE [CARD...] [text=…] [mig=…] [@KEY=VALUE]  |  expect NAME nowhere
  Status expect_line(Line& line) {
    ScenarioStep step{.name = line.take(), .line = line_};
    if (!awaiting_ || step.name != *awaiting_)
      return line.wrong("expect must follow the line of its pod:", step.name);
    awaiting_.reset();
    if (line.take_if("nowhere")) {
      step.kind = Kind::kExpectNowhere;
    } else if (line.take_if("on")) {
      step.kind = Kind::kExpectOn;
      if (Status s = expected_place(line, step); !s) return s;
    } else {
      return line.wrong("expect wants on NODE or nowhere, got", line.peek());
    }
    out_.steps.push_back(std::move(step));
    return {};
  }

  Status expected_place(Line& line, ScenarioStep& step) {
    const Result<ScenarioNode*> node = nodes_.named(line);
    if (!node) return tl::unexpected(node.error());
    step.node = (*node)->name;
    while (!line.done()) {
      const std::string word = line.take();
      const std::optional<KeyValue> kv = key_value(word);
      if (kv && kv->key == "text") {
        step.device_text = kv->value;
      } else if (kv && kv->key == "mig") {
        for (const std::string_view instance : text::split(kv->value, ','))
          step.instances.emplace_back(instance);
      } else if (kv && kv->key.front() == '@') {
        step.annotations.emplace_back(kv->key.substr(1), kv->value);
      } else if (const core::Device* device = find_card(**node, word); device != nullptr) {
        step.cards.push_back(device->id);
      } else {
        return line.wrong(fmt::format("not a card of {}:", step.node), word);
      }
    }
    return {};
  }

  /// because NODE: reason as in the answer
  Status because_line(Line& line) {
    if (out_.steps.empty() || out_.steps.back().kind != Kind::kExpectNowhere)
      return line.wrong("because must follow expect … nowhere");
    std::string node = line.take();
    if (node.empty() || node.back() != ':')
      return line.wrong("because wants NODE: and a reason, got", node);
    node.pop_back();
    if (nodes_.find(node) == nullptr) return line.wrong("no node line for", node);
    std::string reason = line.rest();
    if (reason.empty()) return line.wrong("because wants a reason for", node);
    out_.steps.back().reasons.emplace_back(std::move(node), std::move(reason));
    return {};
  }

  Status of_pod(Line& line, Kind kind) {
    ScenarioStep step{.kind = kind, .name = line.take()};
    if (!pods_.named(step.name)) return line.wrong("no run or pod line for", step.name);
    return add(line, std::move(step));
  }
  Status finish_line(Line& line) { return of_pod(line, Kind::kFinish); }
  Status delete_line(Line& line) { return of_pod(line, Kind::kDelete); }
  Status init_done_line(Line& line) { return of_pod(line, Kind::kInitDone); }
  Status restart_line(Line& line) { return add(line, {.kind = Kind::kRestart}); }

  Scenario out_;
  NodeLines nodes_{out_};
  PodLines pods_;
  std::optional<std::string> awaiting_;
  int line_ = 0;
};

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, std::string file) {
  return ScenarioParser(std::move(file)).run(text);
}

}  // namespace tessera::sim
