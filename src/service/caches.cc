#include "service/caches.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "k8s/decode.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

/// Percent-encodes everything but unreserved characters, for a value in a query.
std::string query_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string shown_name(json::Value object) {
  const json::Value meta = object["metadata"];
  return fmt::format("{}/{}", meta["namespace"].string_or(""), meta["name"].string_or(""));
}

}  // namespace

Caches::Caches(client::ApiClient& api, TaskThread& state, const LiveReader& live, Books& books,
               const Measures& measures, const Clock& clock, const Options& options)
    : state_(state), live_(live), books_(books), measures_(measures), clock_(clock) {
  client::ReflectorOptions nodes{.path = "/api/v1/nodes", .jitter_seed = options.jitter_seed};
  if (!options.node_label_selector.empty())
    nodes.query = "labelSelector=" + query_escape(options.node_label_selector);
  nodes_ = std::make_unique<client::Reflector>(api, std::move(nodes), node_handlers());
  pods_ = std::make_unique<client::Reflector>(
      api, client::ReflectorOptions{.path = "/api/v1/pods", .jitter_seed = options.jitter_seed + 1},
      pod_handlers());
}

Caches::~Caches() { stop(); }

void Caches::start() {
  nodes_->start();
  pods_->start();
}

void Caches::stop() {
  pods_->stop();
  nodes_->stop();
}

std::string Caches::missing() const {
  if (synced()) return {};
  if (!pods_synced_ && !nodes_synced_) return "pods and nodes are not listed yet";
  return pods_synced_ ? "nodes are not listed yet" : "pods are not listed yet";
}

void Caches::list_begins(Listing& listing) const {
  listing.running = true;
  listing.begin = clock_.mono();
  listing.named.clear();
}

void Caches::refresh(std::function<void()> done) {
  refresh_asked_ = clock_.mono();
  refreshed_ = std::move(done);
  nodes_->list_again();
  pods_->list_again();
}

void Caches::list_complete(std::atomic<bool>& synced_flag, MonoTime& listed, MonoTime begin) {
  listed = begin;
  if (!synced_flag.exchange(true) && synced() && on_synced) on_synced();
  const bool fresh =
      refreshed_ && pods_listed_ >= refresh_asked_ && nodes_listed_ >= refresh_asked_;
  if (fresh) std::exchange(refreshed_, nullptr)();
}

client::ReflectorHandlers Caches::pod_handlers() {
  return {.on_list_begin = [this] { list_begins(pod_listing_); },
          .on_object = [this](json::Value object) { pod_object(object); },
          .on_delete = [this](json::Value object) { pod_deleted(object); },
          .on_list_end =
              [this](bool) {
                auto named = std::make_shared<std::unordered_set<std::string>>(
                    std::move(pod_listing_.named));
                pod_listing_.running = false;
                pod_listing_.named = {};
                state_.post([this, named, begin = pod_listing_.begin] {
                  books_.pods_listed(*named, begin);
                  list_complete(pods_synced_, pods_listed_, begin);
                });
              },
          .on_problem =
              [this](std::string_view problem) {
                measures_.watch_problems_pods.increment();
                log::warn("watch of pods interrupted", {{"problem", problem}});
              }};
}

client::ReflectorHandlers Caches::node_handlers() {
  return {.on_list_begin = [this] { list_begins(node_listing_); },
          .on_object = [this](json::Value object) { node_object(object); },
          .on_delete = [this](json::Value object) { node_deleted(object); },
          .on_list_end =
              [this](bool) {
                auto named = std::make_shared<std::unordered_set<std::string>>(
                    std::move(node_listing_.named));
                node_listing_.running = false;
                node_listing_.named = {};
                state_.post([this, named, begin = node_listing_.begin] {
                  books_.nodes_listed(*named, begin);
                  list_complete(nodes_synced_, nodes_listed_, begin);
                });
              },
          .on_problem =
              [this](std::string_view problem) {
                measures_.watch_problems_nodes.increment();
                log::warn("watch of nodes interrupted", {{"problem", problem}});
              }};
}

void Caches::pod_object(json::Value object) {
  Result<PodFact> fact = live_.get()->read_pod(object);
  if (!fact) {
    measures_.undecodable_pods.increment();
    log::warn("pod cannot be read", {{"pod", shown_name(object)}, {"problem", fact.error().what}});
    return;
  }
  if (!fact->asks_devices) return;  // most pods of a cluster end here
  if (pod_listing_.running) pod_listing_.named.insert(fact->uid);
  state_.post([this, fact = std::make_shared<PodFact>(std::move(*fact))] {
    books_.apply(std::move(*fact));
  });
}

void Caches::pod_deleted(json::Value object) {
  const Result<PodFact> fact = live_.get()->read_pod(object);
  if (fact && !fact->asks_devices) return;
  const std::string uid(object["metadata"]["uid"].string_or(""));
  if (uid.empty()) return;
  state_.post([this, uid] { books_.remove_pod(uid); });
}

void Caches::node_object(json::Value object) {
  Result<NodeFact> fact = live_.get()->read_node(object);
  const std::string name(object["metadata"]["name"].string_or(""));
  if (node_listing_.running) node_listing_.named.insert(name);
  if (!fact) {
    measures_.undecodable_nodes.increment();
    log::warn("node cannot be read", {{"node", name}, {"problem", fact.error().what}});
    return;
  }
  const MonoTime begin = node_listing_.running ? node_listing_.begin : MonoTime{};
  state_.post([this, begin, fact = std::make_shared<NodeFact>(std::move(*fact))] {
    books_.apply(std::move(*fact), begin);
  });
}

void Caches::node_deleted(json::Value object) {
  const std::string name(object["metadata"]["name"].string_or(""));
  const std::uint64_t version = version_number(object["metadata"]["resourceVersion"].string_or(""));
  if (!name.empty()) state_.post([this, name, version] { books_.remove_node(name, version); });
}

}  // namespace tessera::service
