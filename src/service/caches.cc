#include "service/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/query.h"
#include "k8s/decode.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

constexpr std::array<std::string_view, 4> kRoots = {"/api/v1/", "/api/v1/", "/api/v1/",
                                                    "/apis/policy/v1/"};

std::string shown_name(json::Value object) {
  const json::Value meta = object["metadata"];
  return fmt::format("{}/{}", meta["namespace"].string_or(""), meta["name"].string_or(""));
}

std::uint64_t version_of(json::Value object) {
  return version_number(object["metadata"]["resourceVersion"].string_or(""));
}

}  // namespace

Caches::Caches(client::ApiClient& api, TaskThread& state, const LiveReader& live, Books& books,
               const Measures& measures, const Clock& clock, const Options& options)
    : state_(state), live_(live), books_(books), budgets_(options.budgets), clock_(clock) {
  const std::array<std::string, kKinds> names = {"pods", "nodes", "resourcequotas",
                                                 "poddisruptionbudgets"};
  obs::Metrics& metrics = measures.metrics;
  for (std::size_t i = 0; i < kKinds; ++i) {
    Source& source = sources_[i];
    source.what = names[i];
    if (i == kBudgets && budgets_ == nullptr) continue;
    source.problems = metrics.counter("tessera_watch_restarts_total",
                                      "Lists and watches that ended with a problem and began anew.",
                                      {{"resource", names[i]}});
    source.undecodable = metrics.counter("tessera_undecodable_objects_total",
                                         "Objects from the API server that could not be read.",
                                         {{"resource", names[i]}});
    client::ReflectorOptions reflector{.path = std::string(kRoots[i]) + names[i],
                                       .jitter_seed = options.jitter_seed + i};
    if (i == kNodes && !options.node_label_selector.empty())
      reflector.query = "labelSelector=" + client::escape_query(options.node_label_selector);
    using Handler = void (Caches::*)(json::Value);
    constexpr std::array<Handler, kKinds> kObject = {&Caches::pod_object, &Caches::node_object,
                                                     &Caches::quota_object, &Caches::budget_object};
    constexpr std::array<Handler, kKinds> kDeleted = {&Caches::pod_deleted, &Caches::node_deleted,
                                                      &Caches::quota_deleted,
                                                      &Caches::budget_deleted};
    source.reflector = std::make_unique<client::Reflector>(
        api, std::move(reflector), handlers(static_cast<Kind>(i), kObject[i], kDeleted[i]));
  }
  quota_watch_ = metrics.gauge("tessera_quota_watch",
                               "1 while ResourceQuotas are read; 0 without the right to list them: "
                               "quotas are not enforced here then.");
}

Caches::~Caches() { stop(); }

void Caches::start() {
  for (Source& source : sources_)
    if (source.reflector != nullptr) source.reflector->start();
}

void Caches::stop() {
  for (Source& source : sources_)
    if (source.reflector != nullptr) source.reflector->stop();
}

void Caches::relist() {
  ++round_;
  for (Source& source : sources_)
    if (source.reflector != nullptr) source.reflector->list_again();
}

void Caches::refresh(std::function<void()> done) {
  waiting_.push_back(std::move(done));
  relist();
}

bool Caches::synced() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [this](const Source& source) { return complete(source); });
}

std::vector<Caches::Completeness> Caches::completeness() const {
  std::vector<Completeness> all;
  for (const Source& source : sources_)
    if (source.reflector != nullptr) all.push_back({source.what, complete(source)});
  return all;
}

std::string Caches::missing() const {
  std::vector<std::string> missing;
  for (const Source& source : sources_) {
    if (!complete(source)) missing.push_back(source.what);
  }
  if (missing.empty()) return {};
  return text::join(missing, " and ") + " are not listed yet";
}

client::ReflectorHandlers Caches::handlers(Kind kind, void (Caches::*on_object)(json::Value),
                                           void (Caches::*on_delete)(json::Value)) {
  Source& source = sources_[kind];
  client::ReflectorHandlers out;
  out.on_list_begin = [this, &source] { list_begins(source); };
  out.on_object = [this, on_object](json::Value object) { (this->*on_object)(object); };
  out.on_delete = [this, on_delete](json::Value object) { (this->*on_delete)(object); };
  out.on_list_end = [this, kind](bool) { list_ends(kind); };
  out.on_problem = [&source](std::string_view problem) {
    source.problems.increment();
    if (!source.forbidden)
      log::warn(fmt::format("watch of {} interrupted", source.what), {{"problem", problem}});
  };
  if (kind == kQuotas || kind == kBudgets)
    out.on_list_refused = [this, kind](int status) { list_refused(kind, status); };
  return out;
}

void Caches::list_begins(Source& source) {
  source.listing = {
      .running = true, .begin = clock_.mono(), .round = round_, .named = {}, .others = {}};
}

void Caches::list_ends(Kind kind) {
  auto list = std::make_shared<Listing>(std::move(sources_[kind].listing));
  sources_[kind].listing = {};
  list->others.sort();
  if (sources_[kind].forbidden.exchange(false))
    log::info(fmt::format("{} can be read now", sources_[kind].what));
  if (kind == kQuotas) quota_watch_.set(1);
  state_.post([this, kind, list] { take_list(kind, *list); });
}

/// On the state thread, behind everything that the list has posted.
void Caches::take_list(Kind kind, const Listing& list) {
  if (kind == kPods) books_.pods_listed(list.named, list.begin, list.others);
  if (kind == kNodes) books_.nodes_listed(list.named, list.begin);
  if (kind == kQuotas) books_.quotas_listed(list.named, list.begin);
  if (kind == kBudgets) budgets_->listed(list.named, list.begin);
  mark_complete(sources_[kind], list.round);
}

void Caches::mark_complete(Source& source, std::uint64_t round) {
  source.complete = round;
  if (!synced() || told_ == round_) return;
  told_ = round_;
  filled_ = true;
  for (const auto& done : std::exchange(waiting_, {})) done();
  if (on_synced) on_synced();
}

/// Without the right to read quotas or budgets the rest goes on; the reflector keeps asking.
void Caches::list_refused(Kind kind, int status) {
  if (status != 401 && status != 403 && status != 404) return;
  Source& source = sources_[kind];
  if (!source.forbidden.exchange(true)) {
    log::warn(kind == kQuotas
                  ? "quotas are not enforced: the right to list resourcequotas is missing"
                  : "disruption budgets are known to the API server only: the right to list "
                    "poddisruptionbudgets is missing",
              {{"status", status}});
  }
  if (kind == kQuotas) quota_watch_.set(0);
  state_.post([this, &source, round = source.listing.round] { mark_complete(source, round); });
}

void Caches::undecodable(Source& source, std::string_view name, const Error& error) const {
  source.undecodable.increment();
  log::warn(fmt::format("one of {} cannot be read", source.what),
            {{"name", name}, {"problem", error.what}});
}

// ---- objects, on the client thread

void Caches::pod_object(json::Value object) {
  Source& source = sources_[kPods];
  const std::shared_ptr<const FactReader> reader = live_.get();
  if (!reader->may_ask_devices(object)) {  // most pods of a cluster end here
    if (source.listing.running)
      source.listing.others.insert(object["metadata"]["uid"].string_or(""));
    return;
  }
  Result<PodFact> fact = reader->read_pod(object);
  if (!fact) return undecodable(source, shown_name(object), fact.error());
  if (!fact->asks_devices) {
    if (source.listing.running) source.listing.others.insert(fact->uid);
    return;
  }
  if (source.listing.running) source.listing.named.insert(fact->uid);
  state_.post([this, fact = std::make_shared<PodFact>(std::move(*fact))] {
    books_.apply(std::move(*fact));
  });
}

void Caches::pod_deleted(json::Value object) {
  const std::shared_ptr<const FactReader> reader = live_.get();
  if (!reader->may_ask_devices(object)) return;
  const Result<PodFact> fact = reader->read_pod(object);
  if (fact && !fact->asks_devices) return;
  const std::string uid(object["metadata"]["uid"].string_or(""));
  if (uid.empty()) return;
  state_.post([this, uid] { books_.remove_pod(uid); });
}

void Caches::node_object(json::Value object) {
  Source& source = sources_[kNodes];
  Result<NodeFact> fact = live_.get()->read_node(object);
  const std::string name(object["metadata"]["name"].string_or(""));
  if (source.listing.running) source.listing.named.insert(name);
  if (!fact) return undecodable(source, name, fact.error());
  const MonoTime begin = source.listing.running ? source.listing.begin : MonoTime{};
  state_.post([this, begin, fact = std::make_shared<NodeFact>(std::move(*fact))] {
    books_.apply(std::move(*fact), begin);
  });
}

void Caches::node_deleted(json::Value object) {
  const std::string name(object["metadata"]["name"].string_or(""));
  const std::uint64_t version = version_of(object);
  if (!name.empty()) state_.post([this, name, version] { books_.remove_node(name, version); });
}

void Caches::quota_object(json::Value object) {
  Source& source = sources_[kQuotas];
  if (source.listing.running) source.listing.named.insert(shown_name(object));
  Result<QuotaFact> fact = live_.get()->read_quota(object);
  if (!fact) return undecodable(source, shown_name(object), fact.error());
  state_.post([this, fact = std::make_shared<QuotaFact>(std::move(*fact))] {
    books_.apply(std::move(*fact));
  });
}

void Caches::quota_deleted(json::Value object) {
  const json::Value meta = object["metadata"];
  const std::string ns(meta["namespace"].string_or("")), name(meta["name"].string_or(""));
  if (ns.empty() || name.empty()) return;
  state_.post(
      [this, ns, name, version = version_of(object)] { books_.remove_quota(ns, name, version); });
}

void Caches::budget_object(json::Value object) {
  Source& source = sources_[kBudgets];
  if (source.listing.running) source.listing.named.insert(shown_name(object));
  Result<k8s::PodDisruptionBudget> budget = k8s::decode_budget(object);
  if (!budget) return undecodable(source, shown_name(object), budget.error());
  state_.post([this, budget = std::make_shared<k8s::PodDisruptionBudget>(std::move(*budget))] {
    budgets_->apply(std::move(*budget));
  });
}

void Caches::budget_deleted(json::Value object) {
  const json::Value meta = object["metadata"];
  const std::string ns(meta["namespace"].string_or("")), name(meta["name"].string_or(""));
  if (ns.empty() || name.empty()) return;
  state_.post(
      [this, ns, name, version = version_of(object)] { budgets_->remove(ns, name, version); });
}

}  // namespace tessera::service
