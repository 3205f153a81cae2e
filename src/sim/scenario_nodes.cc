#include "sim/scenario_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "sim/scenario_cards.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t kMostCards = 1024;

Status card_count(Line& line, std::int64_t& cards) {
  const std::string word = line.take();
  const Result<std::int64_t> value = word.starts_with("x")
                                         ? text::parse_int(std::string_view(word).substr(1), 16)
                                         : fail(Code::kInvalid, "");
  if (!value || *value < 1 || *value > kMostCards)
    return line.wrong("the number of cards is written xN with N from 1 to 1024, got", word);
  cards = *value;
  return {};
}

Status number_list(const Line& line, const KeyValue& kv, std::vector<std::int64_t>& out) {
  for (const std::string_view piece : text::split(kv.value, ',')) {
    const Result<std::int64_t> n = whole(line, {kv.key, std::string(piece)});
    if (!n) return tl::unexpected(n.error());
    out.push_back(*n);
  }
  return {};
}

/// One value per card; the last stands for those that follow.
std::int64_t nth(const std::vector<std::int64_t>& values, std::int64_t i) {
  return values[std::min(static_cast<std::size_t>(i), values.size() - 1)];
}

void set_pair(std::vector<std::pair<std::string, std::string>>& map, const KeyValue& kv) {
  const auto found = std::find_if(map.begin(), map.end(),
                                  [&](const auto& entry) { return entry.first == kv.key; });
  if (found == map.end()) {
    map.emplace_back(kv.key, kv.value);
  } else {
    found->second = kv.value;
  }
}

/// "0-1" or "0>1": device indices and whether it holds both ways.
struct Ends {
  std::string from, to;
  bool both = true;
};
std::optional<Ends> ends_of(ScenarioNode& node, std::string_view word) {
  const std::size_t at = word.find_first_of("->");
  if (at == std::string_view::npos) return std::nullopt;
  const auto card = [&](std::string_view number) {
    return find_card(node, fmt::format("card{}", number));
  };
  const core::Device *from = card(word.substr(0, at)), *to = card(word.substr(at + 1));
  if (from == nullptr || to == nullptr) return std::nullopt;
  return Ends{from->id, to->id, word[at] == '-'};
}

void set_link(ScenarioNode& node, const std::string& from, const std::string& to,
              std::int64_t score) {
  for (ScenarioNode::Link& link : node.links) {
    if (link.from == from && link.to == to) {
      link.score = score;
      return;
    }
  }
  node.links.push_back({from, to, score});
}

}  // namespace

ScenarioNode* NodeLines::find(std::string_view name) {
  const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                               [&](const ScenarioNode& n) { return n.name == name; });
  return it == nodes_.end() ? nullptr : &*it;
}

Result<ScenarioNode*> NodeLines::named(Line& line) {
  ScenarioNode* node = find(line.peek());
  if (node == nullptr) return line.wrong("no node line for", line.peek());
  line.take();
  return node;
}

bool NodeLines::node_word(const std::string& word, ScenarioNode& node) {
  if (word == "registered" || word == "unregistered") {
    node.registered = word == "registered";
    return true;
  }
  if (word == "offered" || word == "not-offered") {
    node.offered = word == "offered";
    return true;
  }
  const std::optional<KeyValue> kv = key_value(word);
  if (!kv) return false;
  if (kv->key.front() == '@') {
    set_pair(node.annotations, {kv->key.substr(1), kv->value});
    return true;
  }
  const std::optional<KeyValue> label = kv->key == "label" ? key_value(kv->value) : std::nullopt;
  if (label) set_pair(node.labels, *label);
  return label.has_value();
}

Status NodeLines::card_word(Line& line, const std::string& word, const ScenarioNode& node,
                            Cards& cards) {
  const std::optional<KeyValue> kv = key_value(word);
  if (kv && kv->key == "ids") {
    cards.prefix = kv->value;
    return {};
  }
  if (kv && kv->key == "numa") return number_list(line, *kv, cards.numa);
  if (kv && kv->key == "group") return number_list(line, *kv, cards.group);
  if (kv && kv->key == "vendor") {
    const Result<std::uint16_t> vendor = vendor_index(line, kv->value, scenario_);
    if (!vendor) return tl::unexpected(vendor.error());
    cards.pattern.vendor = {*vendor};
    if (*vendor != 0) cards.prefix = fmt::format("{}-{}-", node.name, kv->value);
    return {};
  }
  const Result<bool> known = set_card_property(line, word, cards.pattern);
  if (!known) return tl::unexpected(known.error());
  if (*known) return {};
  if (!cards.pattern.model.empty()) return line.wrong("do not understand", word);
  cards.pattern.model = word;
  return card_count(line, cards.count);
}

Status NodeLines::add_cards(const Line& line, ScenarioNode& node, const Cards& cards) {
  for (std::int64_t i = 0; i < cards.count; ++i) {
    core::Device card = cards.pattern;
    card.id = fmt::format("{}{}", cards.prefix, i);
    card.index = static_cast<std::uint32_t>(i);
    if (!cards.numa.empty()) card.numa = nth(cards.numa, i);
    if (!cards.group.empty()) card.group = nth(cards.group, i);
    const bool twice = std::any_of(node.devices.begin(), node.devices.end(),
                                   [&](const core::Device& d) { return d.id == card.id; });
    if (twice) return line.wrong("card named twice:", card.id);
    node.devices.push_back(std::move(card));
  }
  return {};
}

Result<ScenarioNode*> NodeLines::node(Line& line) {
  ScenarioNode node{.name = line.take()};
  if (node.name.empty()) return line.wrong("node wants a name");
  if (find(node.name) != nullptr) return line.wrong("node named twice:", node.name);
  Cards cards{.pattern = plain_card(), .prefix = node.name + "-card"};
  while (!line.done()) {
    const std::string word = line.take();
    if (node_word(word, node)) continue;
    if (Status s = card_word(line, word, node, cards); !s) return tl::unexpected(s.error());
  }
  if (cards.count == 0 && node.registered)
    return line.wrong("node wants a model and xN, or unregistered:", node.name);
  if (Status s = add_cards(line, node, cards); !s) return tl::unexpected(s.error());
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

Result<ScenarioNode*> NodeLines::also(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  Cards cards{.pattern = plain_card(), .prefix = (*node)->name + "-more"};
  while (!line.done()) {
    const std::string word = line.take();
    if (Status s = card_word(line, word, **node, cards); !s) return tl::unexpected(s.error());
  }
  if (cards.count == 0) return line.wrong("also wants a model and xN for", (*node)->name);
  if (Status s = add_cards(line, **node, cards); !s) return tl::unexpected(s.error());
  return node;
}

Result<ScenarioNode*> NodeLines::card(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  std::vector<core::Device*> chosen;
  bool changed = false;
  while (!line.done()) {
    const std::string word = line.take();
    if (core::Device* device = find_card(**node, word); device != nullptr && !changed) {
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
      return line.wrong(fmt::format("neither a card of {} nor a property:", (*node)->name), word);
    changed = true;
  }
  if (!changed) return line.wrong("card wants node, cards and properties");
  return node;
}

Result<std::vector<std::string>> NodeLines::cards_of(Line& line, ScenarioNode& node) const {
  std::vector<std::string> ids;
  while (!line.done()) {
    const core::Device* device = find_card(node, line.peek());
    if (device == nullptr)
      return line.wrong(fmt::format("not a card of {}:", node.name), line.peek());
    ids.push_back(device->id);
    line.take();
  }
  return ids;
}

Result<ScenarioNode*> NodeLines::cordon(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  if (line.done()) return line.wrong("cordon wants cards of", (*node)->name);
  const auto ids = cards_of(line, **node);
  if (!ids) return tl::unexpected(ids.error());
  auto& closed = (*node)->cordoned;
  closed.insert(closed.end(), ids->begin(), ids->end());
  return node;
}

Result<ScenarioNode*> NodeLines::uncordon(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  const auto ids = cards_of(line, **node);
  if (!ids) return tl::unexpected(ids.error());
  for (const std::string& id : *ids) std::erase((*node)->cordoned, id);
  return node;
}

Result<ScenarioNode*> NodeLines::links(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  if (line.done()) return line.wrong("links wants A-B=SCORE for", (*node)->name);
  while (!line.done()) {
    const std::string word = line.take();
    const std::optional<KeyValue> kv = key_value(word);
    if (!kv) return line.wrong("links wants A-B=SCORE, A>B=SCORE or others=SCORE, got", word);
    const Result<std::int64_t> score = whole(line, *kv);
    if (!score) return tl::unexpected(score.error());
    if (kv->key == "others") {
      for (const core::Device& a : (*node)->devices)
        for (const core::Device& b : (*node)->devices)
          if (a.id != b.id) set_link(**node, a.id, b.id, *score);
      continue;
    }
    const std::optional<Ends> ends = ends_of(**node, kv->key);
    if (!ends) return line.wrong("links wants A-B=SCORE, A>B=SCORE or others=SCORE, got", word);
    set_link(**node, ends->from, ends->to, *score);
    if (ends->both) set_link(**node, ends->to, ends->from, *score);
  }
  return node;
}

Result<ScenarioNode*> NodeLines::change(Line& line) {
  const Result<ScenarioNode*> node = named(line);
  if (!node) return node;
  while (!line.done()) {
    const std::string word = line.take();
    if (!node_word(word, **node))
      return line.wrong(
          "change wants offered, not-offered, registered, unregistered, label=K=V or @K=V, got",
          word);
  }
  return node;
}

}  // namespace tessera::sim
