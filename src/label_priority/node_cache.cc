#include "label_priority/node_cache.h"

#include <fmt/format.h>

#include <utility>

#include "k8s/decode.h"
#include "obs/log.h"

namespace tessera::label_priority {
namespace {

const obs::Labels kOfNodes = {{"resource", "nodes"}};

}  // namespace

struct NodeCache::Waiting {
  Done done;
  std::atomic<bool> over{false};
  void end(const std::string& problem) {
    if (!over.exchange(true)) done(problem);
  }
};

NodeCache::NodeCache(std::string label, LabelWatch& watch, obs::Metrics& metrics)
    : label_(std::move(label)),
      keep_(keep_only(label_)),
      watch_(watch),
      restarts_(metrics.counter("tessera_watch_restarts_total",
                                "Lists and watches that ended with a problem and began anew.",
                                kOfNodes)),
      undecodable_(metrics.counter("tessera_undecodable_objects_total",
                                   "Objects from the API server that could not be read.",
                                   kOfNodes)) {
  const auto gauge = [&](const char* state) {
    return metrics.gauge("tessera_label_priority_nodes",
                         "Nodes of the cluster by what their priority label is.",
                         {{"state", state}});
  };
  labelled_ = gauge("number");
  invalid_ = gauge("invalid");
  unlabelled_ = gauge("missing");
}

NodeCache::~NodeCache() { stop(); }

void NodeCache::start(client::ApiClient& api, std::uint64_t jitter_seed) {
  const std::lock_guard guard(mutex_);
  if (stopped_ || reflector_ != nullptr) return;
  client::ReflectorHandlers handlers;
  handlers.on_list_begin = [this] { list_begins(); };
  handlers.on_object = [this](json::Value object) { node_object(object); };
  handlers.on_delete = [this](json::Value object) {
    node_gone(std::string(object["metadata"]["name"].string_or("")));
  };
  handlers.on_list_end = [this](bool) { list_ends(); };
  handlers.on_problem = [this](std::string_view problem) {
    restarts_.increment();
    if (!refused()) log::warn("watch of nodes interrupted", {{"problem", problem}});
  };
  handlers.on_list_refused = [this](int status) {
    if (status != 401 && status != 403) return;
    if (refused_.exchange(status) == 0)
      log::warn("the right to list nodes is missing: calls that only name nodes cannot be answered",
                {{"status", status}});
    wake(missing());
  };
  reflector_ = std::make_unique<client::Reflector>(
      api, client::ReflectorOptions{.path = "/api/v1/nodes", .jitter_seed = jitter_seed},
      std::move(handlers));
  started_ = true;
  reflector_->start();
}

void NodeCache::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
  }
  if (reflector_ != nullptr) reflector_->stop();
  wake("shutting down");
}

std::string NodeCache::missing() const {
  if (filled_ || !started_) return {};
  if (const int status = refused_; status != 0)
    return fmt::format("the API server refuses to list nodes (code {})", status);
  return "nodes are not listed yet";
}

NodeLabel NodeCache::label_of(std::string_view node) const {
  const std::lock_guard guard(mutex_);
  const auto found = labels_.find(node);
  return found == labels_.end() ? NodeLabel{LabelState::kUnknownNode, 0} : found->second;
}

void NodeCache::when_filled(client::ApiClient& api, std::chrono::milliseconds limit, Done done) {
  if (filled_) return done({});
  if (refused()) return done(missing());
  auto waiting = std::make_shared<Waiting>();
  waiting->done = std::move(done);
  bool too_late = false;
  {
    const std::lock_guard guard(mutex_);
    too_late = stopped_;
    if (!too_late) waiting_.push_back(waiting);
  }
  if (too_late) return waiting->end("shutting down");
  if (filled_) return waiting->end({});  // in the moment between
  api.after(limit, [this, waiting] { waiting->end(missing()); });
}

void NodeCache::wake(const std::string& problem) {
  std::vector<std::shared_ptr<Waiting>> woken;
  {
    const std::lock_guard guard(mutex_);
    woken.swap(waiting_);
  }
  for (const auto& one : woken) one->end(problem);
}

// ---- on the client's thread

void NodeCache::list_begins() {
  listing_ = true;
  named_.clear();
}

void NodeCache::list_ends() {
  std::vector<std::string> gone;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [name, label] : labels_)
      if (!named_.contains(name)) gone.push_back(name);
    for (const std::string& name : gone) labels_.erase(name);
    count_nodes();
  }
  for (const std::string& name : gone) watch_.forget(name);
  listing_ = false;
  named_.clear();
  refused_ = 0;
  filled_ = true;
  wake({});
}

void NodeCache::node_object(json::Value object) {
  const auto node = k8s::decode_node(object, keep_);
  const std::string name(object["metadata"]["name"].string_or(""));
  if (listing_) named_.insert(name);
  if (!node) {
    undecodable_.increment();
    log::warn("one of nodes cannot be read", {{"name", name}, {"problem", node.error().what}});
    return;
  }
  const std::string* value = k8s::find(node->labels, label_);
  const NodeLabel label = read_label(value);
  watch_.see(name, label.state == LabelState::kInvalid ? value : nullptr);
  const std::lock_guard guard(mutex_);
  NodeLabel& known = labels_[name];
  const bool changed = known != label;
  known = label;
  if (changed && !listing_) count_nodes();
}

void NodeCache::node_gone(const std::string& name) {
  watch_.forget(name);
  const std::lock_guard guard(mutex_);
  labels_.erase(name);
  count_nodes();
}

void NodeCache::count_nodes() {
  std::size_t numbers = 0, invalid = 0;
  for (const auto& [name, label] : labels_) {
    numbers += label.state == LabelState::kNumber ? 1 : 0;
    invalid += label.state == LabelState::kInvalid ? 1 : 0;
  }
  labelled_.set(static_cast<double>(numbers));
  invalid_.set(static_cast<double>(invalid));
  unlabelled_.set(static_cast<double>(labels_.size() - numbers - invalid));
}

}  // namespace tessera::label_priority
