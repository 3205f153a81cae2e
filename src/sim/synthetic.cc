#include "sim/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "sim/scenario_objects.h"
#include "sim/synthetic_size.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t kNear = 100, kFar = 10;

Status check(const SyntheticOptions& o) {
  const auto wrong = [](std::string_view what, std::int64_t value, std::string_view range) {
    return fail(Code::kInvalid, fmt::format("{} {}: must be {}", what, value, range));
  };
  if (o.nodes < 1) return wrong("nodes", o.nodes, "at least 1");
  if (o.device_pods < 0) return wrong("device pods", o.device_pods, "at least 0");
  if (o.namespaces < 0) return wrong("namespaces", o.namespaces, "at least 0");
  if (o.plain_pods < 0) return wrong("plain pods", o.plain_pods, "at least 0");
  if (o.cards.empty()) return fail(Code::kInvalid, "no kind of cards");
  for (const SyntheticCards& kind : o.cards) {
    if (kind.count < 1 || kind.count > 99) return wrong("cards of a node", kind.count, "1 to 99");
    if (kind.numa_nodes < 1) return wrong("NUMA nodes", kind.numa_nodes, "at least 1");
  }
  if (o.device_pods > 0 && o.cards.front().profiles != nullptr)
    return fail(Code::kInvalid,
                "device pods hold no instances: the first kind of cards is shared by them");
  std::int64_t weights = 0;
  for (const SyntheticShare& share : o.shares) {
    if (share.cards < 1) return wrong("cards of a share", share.cards, "at least 1");
    if (share.weight < 0) return wrong("weight of a share", share.weight, "at least 0");
    weights += share.weight;
  }
  if (o.device_pods > 0 && weights < 1) return wrong("weight of all shares", weights, "at least 1");
  return {};
}

std::int64_t numa_of(const SyntheticCards& kind, std::int64_t card) {
  return card * kind.numa_nodes / kind.count;
}

void add_links(const std::vector<core::Device>& cards, std::vector<ScenarioNode::Link>& links) {
  for (const core::Device& a : cards) {
    for (const core::Device& b : cards)
      if (a.id != b.id) links.push_back({a.id, b.id, a.numa == b.numa ? kNear : kFar});
  }
}

/// Which share each pod has: in turns, or drawn.
class ShareOrder {
 public:
  ShareOrder(const std::vector<SyntheticShare>& shares, std::uint64_t seed)
      : drawn_(seed != 0), random_(seed) {
    for (std::size_t s = 0; s < shares.size(); ++s)
      turns_.insert(turns_.end(), static_cast<std::size_t>(shares[s].weight), s);
  }
  std::size_t next() {
    // The remainder and not a distribution: those differ between standard libraries.
    const std::uint64_t at = drawn_ ? random_() : turn_++;
    return turns_[static_cast<std::size_t>(at % turns_.size())];
  }

 private:
  bool drawn_;
  std::mt19937_64 random_;
  std::uint64_t turn_ = 0;
  std::vector<std::size_t> turns_;
};

void replace_last(std::string& object, std::string_view old, std::string_view text) {
  const auto at = object.rfind(old);
  if (at != std::string::npos) object.replace(at, old.size(), text);
}

std::string uid_of(std::string_view sort, std::int64_t serial, bool real_size) {
  if (!real_size) return fmt::format("{}-uid-{:06}", sort, serial);
  return fmt::format("{:08x}-{:04x}-4000-8000-{:012x}", serial, sort.size(), serial);
}

}  // namespace

std::vector<core::Device> synthetic_cards(const SyntheticCards& kind, std::int64_t n,
                                          VendorId vendor) {
  std::vector<core::Device> cards;
  for (std::int64_t i = 0; i < kind.count; ++i) {
    core::Device& card = cards.emplace_back();
    card.id = fmt::format("{}{:010}{:02}", kind.id_prefix, n, i);
    card.index = static_cast<std::uint32_t>(i);
    card.vendor = vendor;
    card.healthy = true;
    card.slots = kind.slots;
    card.memory = {kind.memory};
    card.cores = {kind.cores};
    card.mig = kind.profiles;
    card.numa = numa_of(kind, i);
    if (kind.group_size > 0) card.group = i / kind.group_size;
    card.model = kind.model;
    card.mode = kind.profiles != nullptr ? "mig" : "hami-core";
  }
  return cards;
}

SyntheticCluster::SyntheticCluster(SyntheticOptions options) : options_(std::move(options)) {
  setting_.node_policy = options_.node_policy;
  setting_.device_policy = options_.device_policy;
  for (const SyntheticCards& kind : options_.cards) {
    const auto same = [&](const AgentVendor& v) { return v.word == kind.vendor.word; };
    if (std::none_of(setting_.vendors.begin(), setting_.vendors.end(), same))
      setting_.vendors.push_back(kind.vendor);
  }
  cards_per_node_ = static_cast<std::size_t>(options_.cards.front().count);
}

Result<SyntheticCluster> SyntheticCluster::make(SyntheticOptions options) {
  if (Status status = check(options); !status) return tl::unexpected(status.error());
  SyntheticCluster cluster(std::move(options));
  if (Status status = cluster.place_pods(); !status) return tl::unexpected(status.error());
  return cluster;
}

Status SyntheticCluster::place_pods() {
  used_.resize(static_cast<std::size_t>(options_.nodes) * cards_per_node_);
  if (options_.device_pods == 0) return {};
  ShareOrder order(options_.shares, options_.seed);
  holdings_.reserve(static_cast<std::size_t>(options_.device_pods));
  for (std::int64_t i = 0; i < options_.device_pods; ++i) {
    const std::size_t share = order.next();
    std::int64_t tried = 0;
    while (tried < options_.nodes && !place_pod((i + tried) % options_.nodes, share)) ++tried;
    if (tried == options_.nodes)
      return fail(Code::kExhausted, fmt::format("device pods {}: the cluster is full after {}",
                                                options_.device_pods, i));
  }
  return {};
}

/// On the cards that follow those of the pod before it on that node.
bool SyntheticCluster::place_pod(std::int64_t n, std::size_t share) {
  const SyntheticShare& wanted = options_.shares[share];
  const auto kinds = kinds_of(n);
  if (kinds.front() != 0) return false;
  const auto pods_before =
      static_cast<std::size_t>(static_cast<std::int64_t>(holdings_.size()) / options_.nodes);
  Holding holding{.node = n, .share = share, .cards = {}};
  for (std::size_t k = 0; k < cards_per_node_; ++k) {
    const std::size_t card = (pods_before + k) % cards_per_node_;
    if (static_cast<std::int64_t>(holding.cards.size()) == wanted.cards) break;
    if (card_has_room(n, card, wanted)) holding.cards.push_back(static_cast<std::uint32_t>(card));
  }
  if (static_cast<std::int64_t>(holding.cards.size()) < wanted.cards) return false;
  for (const std::uint32_t card : holding.cards) {
    used_[static_cast<std::size_t>(n) * cards_per_node_ + card] +=
        core::Usage{.slots = 1, .memory = {wanted.memory}, .cores = {wanted.cores}};
  }
  holdings_.push_back(std::move(holding));
  return true;
}

bool SyntheticCluster::card_has_room(std::int64_t n, std::size_t card,
                                     const SyntheticShare& share) const {
  const SyntheticCards& kind = options_.cards.front();
  const core::Usage& used = used_[static_cast<std::size_t>(n) * cards_per_node_ + card];
  // A pod that wants a whole card's compute wants it alone.
  return used.slots < kind.slots && used.memory.v + share.memory <= kind.memory &&
         used.cores.v + share.cores <= kind.cores && !(share.cores == kind.cores && used.slots > 0);
}

bool SyntheticCluster::has_room(std::int64_t n, const SyntheticShare& share) const {
  if (n < 0 || n >= options_.nodes || kinds_of(n).front() != 0) return false;
  std::int64_t cards = 0;
  for (std::size_t card = 0; card < cards_per_node_; ++card)
    cards += card_has_room(n, card, share) ? 1 : 0;
  return cards >= share.cards;
}

std::vector<std::size_t> SyntheticCluster::kinds_of(std::int64_t n) const {
  if (!options_.all_kinds_on_each) return {static_cast<std::size_t>(n) % options_.cards.size()};
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < options_.cards.size(); ++k) all.push_back(k);
  return all;
}

std::string SyntheticCluster::node_name(std::int64_t n) const {
  return fmt::format("{}{:0{}}", options_.node_prefix, n + options_.first_node,
                     options_.node_digits);
}

std::vector<core::Device> SyntheticCluster::cards_of(std::int64_t n) const {
  std::vector<core::Device> cards;
  for (const std::size_t k : kinds_of(n)) {
    const SyntheticCards& kind = options_.cards[k];
    const auto found =
        std::find_if(setting_.vendors.begin(), setting_.vendors.end(),
                     [&](const AgentVendor& v) { return v.word == kind.vendor.word; });
    const VendorId vendor{static_cast<std::uint16_t>(found - setting_.vendors.begin())};
    for (core::Device& card : synthetic_cards(kind, n, vendor)) cards.push_back(std::move(card));
  }
  return cards;
}

ScenarioNode SyntheticCluster::node(std::int64_t n) const {
  ScenarioNode node;
  node.name = node_name(n);
  node.devices = cards_of(n);
  for (const std::size_t k : kinds_of(n))
    if (options_.cards[k].linked) add_links(synthetic_cards(options_.cards[k], n), node.links);
  if (!options_.real_size) return node;
  node.labels = real_node_labels(node.name, n);
  node.annotations = real_node_annotations();
  return node;
}

AgentNode SyntheticCluster::agent_node(std::int64_t n) const {
  return {.name = node_name(n), .devices = cards_of(n)};
}

std::string SyntheticCluster::node_json(std::int64_t n) const {
  std::string object = node_object(setting_, node(n));
  return options_.real_size ? real_size_node(std::move(object), n) : object;
}

ScenarioPod SyntheticCluster::asking_pod(std::string name, const SyntheticShare& share) const {
  ScenarioPod pod;
  pod.name = std::move(name);
  pod.containers.push_back(
      {"app",
       {{options_.cards.front().vendor.count_resource, std::to_string(share.cards)},
        {"nvidia.com/gpumem", std::to_string(share.memory)},
        {"nvidia.com/gpucores", std::to_string(share.cores)}}});
  return pod;
}

std::string SyntheticCluster::asking_pod_json(const ScenarioPod& pod) const {
  std::string object = pod_object(setting_, pod, "");
  return options_.real_size ? real_size_pod(std::move(object), 0) : object;
}

std::string SyntheticCluster::device_pod_name(std::int64_t i, std::int64_t generation) const {
  return fmt::format("running-{:06}", i + generation * options_.device_pods);
}

std::string SyntheticCluster::plain_pod_name(std::int64_t i, std::int64_t generation) const {
  return fmt::format("plain-{:06}", i + generation * options_.plain_pods);
}

std::string SyntheticCluster::name_space(std::int64_t i) const {
  if (options_.namespaces == 0) return std::string(kScenarioNamespace);
  return fmt::format("team-{:02}", i % options_.namespaces);
}

std::string SyntheticCluster::pods_path(std::int64_t i) const {
  return fmt::format("/api/v1/namespaces/{}/pods", name_space(i));
}

ScenarioPod SyntheticCluster::device_pod(std::int64_t i, std::int64_t generation) const {
  const Holding& holding = holdings_[static_cast<std::size_t>(i)];
  ScenarioPod pod = asking_pod(device_pod_name(i, generation), options_.shares[holding.share]);
  pod.node = node_name(holding.node);
  const auto cards = synthetic_cards(options_.cards.front(), holding.node);
  pod.cards.emplace_back();
  for (const std::uint32_t card : holding.cards)
    pod.cards.back().push_back(ScenarioPod::Held{.id = cards[card].id});
  if (options_.real_size) pod.annotations = real_pod_annotations(true);
  return pod;
}

std::string SyntheticCluster::device_pod_json(std::int64_t i, std::int64_t generation) const {
  // The writer looks the node up: it gets a cluster that has no other.
  Scenario alone = setting_;
  alone.nodes.push_back(node(holdings_[static_cast<std::size_t>(i)].node));
  const std::int64_t serial = i + generation * options_.device_pods;
  return finished(
      pod_object(alone, device_pod(i, generation), uid_of("running", serial, options_.real_size)),
      i, serial);
}

/// Nothing of it is for the scheduler of devices, whose name and policies it does not bear.
std::string SyntheticCluster::plain_pod_json(std::int64_t i, std::int64_t generation) const {
  ScenarioPod pod;
  pod.name = plain_pod_name(i, generation);
  pod.containers.push_back({"app", {{"cpu", "2"}, {"memory", "4Gi"}}});
  if (options_.real_size) pod.annotations = real_pod_annotations(false);
  Scenario without;
  without.node_policy = without.device_policy = {};
  const std::int64_t serial = i + generation * options_.plain_pods;
  std::string object = pod_object(without, pod, uid_of("plain", serial, options_.real_size));
  replace_last(object, R"("phase":"Pending")", R"("phase":"Running")");
  replace_last(object, R"("schedulerName":"hami-scheduler")",
               fmt::format(R"("schedulerName":"default-scheduler","nodeName":"{}")",
                           node_name(i % options_.nodes)));
  return finished(std::move(object), i, serial);
}

std::string SyntheticCluster::finished(std::string pod_object, std::int64_t i,
                                       std::int64_t serial) const {
  replace_last(pod_object, fmt::format(R"("namespace":"{}")", kScenarioNamespace),
               fmt::format(R"("namespace":"{}")", name_space(i)));
  return options_.real_size ? real_size_pod(std::move(pod_object), serial) : pod_object;
}

std::vector<core::Usage> SyntheticCluster::used_of(std::int64_t n) const {
  std::vector<core::Usage> used(cards_of(n).size());
  if (kinds_of(n).front() != 0) return used;
  const auto first =
      used_.begin() + static_cast<std::ptrdiff_t>(n) * static_cast<std::ptrdiff_t>(cards_per_node_);
  std::copy_n(first, cards_per_node_, used.begin());
  return used;
}

}  // namespace tessera::sim
