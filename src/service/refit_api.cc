#include "service/refit_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/place.h"
#include "json/writer.h"
#include "k8s/decode.h"
#include "obs/log.h"
#include "service/explain_api.h"
#include "service/keys.h"
#include "service/names.h"
#include "service/refit.h"

namespace tessera::service {
namespace {

constexpr int kTries = 3;
/// Longer than any answer of the API server takes; the claim ends with the answer.
constexpr std::chrono::seconds kClaim{60};

struct Job {
  RefitOrder order;
  http::Responder respond;
  std::uint64_t term = 0;
  int tries_left = kTries;
};
using JobPtr = std::shared_ptr<Job>;

/// What is read of the API server's picture of a bound pod.
struct BoundPod {
  std::shared_ptr<const FactReader> reader;
  k8s::Pod pod;
  PodFact fact;
};

PodUid claim_of(const std::string& uid) { return {uid + "/refit"}; }

void refuse(Scheduler& s, const Job& job, int status, const std::string& why) {
  s.metrics
      .counter("tessera_refits_total", "Calls of /v1/refit by outcome.", {{"result", "refused"}})
      .increment();
  log::info("refit refused", {{"pod", job.order.ns + "/" + job.order.name},
                              {"uid", job.order.uid},
                              {"node", job.order.node},
                              {"why", why}});
  job.respond(api_error(status, why));
}

void grant(Scheduler& s, const Job& job, const PodFact& pod, const core::Allocation& allocation,
           const char* state, bool changed) {
  s.metrics
      .counter("tessera_refits_total", "Calls of /v1/refit by outcome.",
               {{"result", changed ? "changed" : "unchanged"}})
      .increment();
  json::Writer w;
  w.begin_object().key("pod").begin_object();
  w.key("namespace").string(pod.ns).key("name").string(pod.name).key("uid").string(pod.uid);
  w.end_object().key("node").string(allocation.node).key("state").string(state);
  w.key("changed").boolean(changed).key("annotations").begin_object();
  const auto reader = s.live.get();
  for (const auto& [key, value] : reader->vendors().encode(allocation, s.clock.wall()))
    w.key(key).string(value);
  w.end_object().end_object();
  job.respond({.body = std::move(w).take()});
}

bool has_instances(const core::Allocation& allocation) {
  return !allocation.stray_mig.empty() ||
         std::any_of(allocation.grants.begin(), allocation.grants.end(),
                     [](const core::Grant& g) { return g.mig.has_value(); });
}

struct Choice {
  core::Allocation allocation;
  bool changed = false;
};

Result<Choice> choose(Scheduler& s, const Job& job, const core::Request& request,
                      const core::Allocation& held) {
  const core::Cluster& cluster = s.books.cluster();
  const NodeId node = cluster.find_node(job.order.node);
  if (!node.valid() || !cluster.node(node).present)
    return fail(Code::kNotFound, fmt::format("node {} is not known here", job.order.node));
  const auto allowed = AllowedCards::of(cluster.node(node).spec, job.order.limits);
  if (!allowed) return tl::unexpected(allowed.error());
  if (has_instances(held))
    return fail(Code::kConflict, "the pod holds instances of a partitioned card; those stay");
  if (allowed->allows(held)) return Choice{held, false};
  const auto narrowed = allowed->narrow(request);
  if (!narrowed) return tl::unexpected(narrowed.error());
  core::Fit fit = core::fit_node(cluster, *narrowed, node);
  if (!fit.allocation) {
    return fail(Code::kConflict, fmt::format("nothing fits on node {} within the limits given: {}",
                                             job.order.node, fit.reject.text()));
  }
  if (has_instances(*fit.allocation))
    return fail(Code::kConflict, "within the limits given only instances would fit");
  return Choice{std::move(*fit.allocation), true};
}

int status_of(const Error& error) {
  if (error.code == Code::kNotFound) return 404;
  return error.code == Code::kInvalid ? 400 : 409;
}

// ---- a reservation

void refit_reserved(Scheduler& s, const Job& job, PodRecord& pod, const core::Hold& hold) {
  if (pod.stage == BindStage::kActive)
    return refuse(s, job, 409, "the pod is being bound at this moment, ask again");
  if (!pod.request) return refuse(s, job, 409, "what the pod asks for is not known");
  Result<Choice> choice = choose(s, job, *pod.request, hold.allocation);
  if (!choice) return refuse(s, job, status_of(choice.error()), choice.error().what);
  if (choice->changed) {
    if (const Status reserved = s.books.reserve(pod, choice->allocation); !reserved)
      return refuse(s, job, 409, reserved.error().what);
  }
  grant(s, job, pod.fact, choice->allocation, "reserved", choice->changed);
}

// ---- a bound pod

void refit_bound(Scheduler& s, const JobPtr& job, const PodFact& pod);

std::string pod_path(const PodFact& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name);
}

std::string patch_of(const BoundPod& bound, const core::Allocation& allocation, WallTime now) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object();
  w.key("uid").string(bound.pod.uid);
  w.key("resourceVersion").string(bound.pod.resource_version);
  w.key("annotations").begin_object();
  for (const auto& [key, value] : bound.reader->vendors().encode(allocation, now))
    w.key(key).string(value);
  w.end_object().end_object().end_object();
  return std::move(w).take();
}

/// The agent takes its entry out of the text as it serves a container; "" = it has not begun.
std::string begun(const BoundPod& bound, const core::Allocation& held, WallTime now) {
  const vendors::Vendors& vendors = bound.reader->vendors();
  const k8s::StringMap written = vendors.encode(held, now);
  for (const vendors::Vendor& vendor : vendors.all()) {
    const std::string* ours = k8s::find(written, vendor.to_allocate_key);
    if (ours == nullptr) continue;
    const std::string* there = k8s::find(bound.pod.annotations, vendor.to_allocate_key);
    if (there == nullptr || *there != *ours)
      return "the node agent has begun to serve the pod: " + vendor.to_allocate_key +
             " has changed";
  }
  return {};
}

std::string unfit(const Job& job, const PodFact& pod) {
  if (pod.finished || pod.terminating) return "the pod has ended or is ending";
  if (pod.node != job.order.node) return fmt::format("the pod is bound to node {}", pod.node);
  if (pod.started) return "the pod is running: its devices stay";
  if (pod.bind_phase != kPhaseAllocating)
    return fmt::format("the phase of the pod is \"{}\": its devices have been handed out",
                       pod.bind_phase);
  return {};
}

void end_claim(Scheduler& s, const PodFact& pod) {
  if (!s.books.cluster().release(claim_of(pod.uid))) return;
  if (s.books.on_room) s.books.on_room(pod.node, pod.ns);
}

void patched(Scheduler& s, const JobPtr& job, const PodFact& pod,
             const core::Allocation& allocation, const client::ApiResponse& response) {
  end_claim(s, pod);
  if (response.status == 409 && --job->tries_left > 0) return refit_bound(s, job, pod);
  if (!response.ok())
    return refuse(s, *job, response.status == 404 ? 404 : 503,
                  "the API server did not take the new devices: " + response.message());
  json::Parser parser;
  const Result<json::Value> object = parser.parse(response.body);
  Result<PodFact> fact = object ? s.live.get()->read_pod(*object) : tl::unexpected(object.error());
  if (fact) s.books.apply(std::move(*fact));
  s.events.write({"Pod", pod.ns, pod.name, pod.uid}, EventType::kNormal, "DevicesRefitted",
                 fmt::format("the node agent asked for other devices on {}", pod.node));
  grant(s, *job, pod, allocation, "bound", true);
}

void patch_bound(Scheduler& s, const JobPtr& job, const BoundPod& bound,
                 core::Allocation allocation) {
  // Both the old and the new devices are taken until the API server has answered.
  s.books.cluster().restore(claim_of(bound.fact.uid), {.allocation = allocation,
                                                       .state = core::HoldState::kReserved,
                                                       .deadline = s.clock.mono() + kClaim});
  client::ApiRequest request{.method = "PATCH",
                             .path = pod_path(bound.fact),
                             .body = patch_of(bound, allocation, s.clock.wall()),
                             .content_type = "application/merge-patch+json",
                             .still_wanted = [&s, job] { return s.leader.holds(job->term); }};
  s.api->send(std::move(request), [&s, job, pod = bound.fact,
                                   allocation = std::move(allocation)](client::ApiResponse answer) {
    s.state.post([&s, job, pod, allocation, answer = std::move(answer)] {
      patched(s, job, pod, allocation, answer);
    });
  });
}

void decide_bound(Scheduler& s, const JobPtr& job, const BoundPod& bound) {
  if (bound.reader != s.live.get())
    return refuse(s, *job, 503, "the device configuration has just changed, ask again");
  if (const std::string why = unfit(*job, bound.fact); !why.empty())
    return refuse(s, *job, 409, why);
  const core::Hold* hold = s.books.cluster().hold({bound.fact.uid});
  if (hold == nullptr) return refuse(s, *job, 409, "the pod holds no devices");
  if (s.books.cluster().hold(claim_of(bound.fact.uid)) != nullptr)
    return refuse(s, *job, 409, "another refit of the pod is under way");
  if (const std::string why = begun(bound, hold->allocation, s.clock.wall()); !why.empty())
    return refuse(s, *job, 409, why);
  const Result<vendors::Demand> demand =
      bound.reader->vendors().demand(bound.pod, bound.reader->defaults());
  if (!demand) return refuse(s, *job, 409, demand.error().what);
  Result<Choice> choice = choose(s, *job, demand->request, hold->allocation);
  if (!choice) return refuse(s, *job, status_of(choice.error()), choice.error().what);
  if (!choice->changed) return grant(s, *job, bound.fact, choice->allocation, "bound", false);
  patch_bound(s, job, bound, std::move(choice->allocation));
}

Result<BoundPod> read_bound(const Scheduler& s, const PodFact& pod, std::string body) {
  json::Parser parser;
  const Result<json::Value> object = parser.parse(std::move(body));
  if (!object) return tl::unexpected(object.error());
  BoundPod bound{.reader = s.live.get(), .pod = {}, .fact = {}};
  Result<k8s::Pod> read = k8s::decode_pod(*object, bound.reader->keep());
  if (!read) return tl::unexpected(read.error());
  if (read->uid != pod.uid)
    return fail(Code::kConflict, fmt::format("the pod was replaced: its UID is {}", read->uid));
  bound.pod = std::move(*read);
  bound.fact = bound.reader->read_pod(bound.pod);
  return bound;
}

/// The books do not keep what a bound pod asked for, nor its version: the API server is asked.
void refit_bound(Scheduler& s, const JobPtr& job, const PodFact& pod) {
  s.api->send({.path = pod_path(pod)}, [&s, job, pod](client::ApiResponse response) {
    s.state.post([&s, job, pod, response = std::move(response)]() mutable {
      if (!response.ok())
        return refuse(s, *job, response.status == 404 ? 404 : 503,
                      "the API server does not show the pod: " + response.message());
      const Result<BoundPod> bound = read_bound(s, pod, std::move(response.body));
      if (!bound) return refuse(s, *job, 409, bound.error().what);
      decide_bound(s, job, *bound);
    });
  });
}

// ---- which of both

void refit(Scheduler& s, const JobPtr& job) {
  const RefitOrder& order = job->order;
  PodRecord* pod =
      order.uid.empty() ? s.books.pod_by_name(order.ns, order.name) : s.books.pod(order.uid);
  const bool other = pod != nullptr && !order.name.empty() &&
                     (pod->fact.name != order.name || pod->fact.ns != order.ns);
  if (pod == nullptr || other)
    return refuse(s, *job, 404, "the pod is not known here: it does not exist or has no devices");
  job->term = s.leader.term();
  if (!pod->fact.node.empty() || pod->fact.finished) return refit_bound(s, job, pod->fact);
  const core::Hold* hold = s.books.cluster().hold({pod->fact.uid});
  if (hold == nullptr)
    return refuse(s, *job, 409, "the pod is neither bound nor reserved on a node");
  if (hold->allocation.node != order.node)
    return refuse(s, *job, 409,
                  fmt::format("the pod is reserved on node {}", hold->allocation.node));
  refit_reserved(s, *job, *pod, *hold);
}

}  // namespace

void handle_refit(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  auto job = std::make_shared<Job>(Job{.order = {}, .respond = respond});
  if (!s.callers.on()) {
    return refuse(s, *job, 403,
                  "a refit changes other people's pods: it is served only with "
                  "--extender-client-ca or --extender-token-file, so that callers are known");
  }
  Result<RefitOrder> order = read_refit(request.body);
  if (!order) return refuse(s, *job, 400, order.error().what);
  if (!is_object_name(order->ns) || (!order->name.empty() && !is_object_name(order->name)))
    return refuse(s, *job, 400, "namespace or name: not a name");
  job->order = std::move(*order);
  s.state.post([&s, job, gone = request.client_gone] {
    s.gate.pass({.enter = [&s, job] { refit(s, job); },
                 .turn_away = [&s, job](const std::string& why) { refuse(s, *job, 503, why); },
                 .client_gone = gone});
  });
}

}  // namespace tessera::service
