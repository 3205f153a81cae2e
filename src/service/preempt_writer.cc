#include "service/preempt_writer.h"

#include <fmt/format.h>

#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

constexpr const char* kMergePatch = "application/merge-patch+json";

std::string pod_path(const std::string& ns, const std::string& name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name);
}

std::string eviction_body(const PreemptionNote::Victim& victim, bool dry_run) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("policy/v1").key("kind").string("Eviction");
  w.key("metadata").begin_object().key("name").string(victim.name);
  w.key("namespace").string(victim.ns).end_object();
  w.key("deleteOptions").begin_object();
  w.key("preconditions").begin_object().key("uid").string(victim.uid).end_object();
  if (dry_run) w.key("dryRun").begin_array().string("All").end_array();
  w.end_object().end_object();
  return std::move(w).take();
}

std::string note_patch(const std::string& uid, const std::optional<std::string>& text) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("uid").string(uid);
  w.key("annotations").begin_object().key(kPreemptionKey);
  if (text)
    w.string(*text);
  else
    w.null();
  w.end_object().end_object().end_object();
  return std::move(w).take();
}

std::string nomination_patch(const std::string& uid, const std::string& node) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("uid").string(uid).end_object();
  w.key("status").begin_object().key("nominatedNodeName").string(node).end_object().end_object();
  return std::move(w).take();
}

/// The API server says 429 also when it is merely busy.
bool names_a_budget(const std::string& body) {
  json::Parser parser;
  const auto status = parser.parse(body);
  if (!status) return false;
  bool found = false;
  (*status)["details"]["causes"].for_each_element(
      [&](json::Value cause) { found = found || cause["reason"].string() == "DisruptionBudget"; });
  const std::string_view message = (*status)["message"].string_or("");
  return found || message.find("disruption budget") != std::string_view::npos;
}

}  // namespace

Eviction read_eviction_answer(const client::ApiResponse& response) {
  if (response.ok()) return Eviction::kAccepted;
  if (response.status == 404) return Eviction::kGone;
  // The name belongs to another pod by now.
  const bool other_uid = response.message().find("UID in ") != std::string::npos;
  if (response.status == 409 && other_uid) return Eviction::kGone;
  if (response.status == 401 || response.status == 403) return Eviction::kForbidden;
  if (response.status == 429 && names_a_budget(response.body)) return Eviction::kRefused;
  return Eviction::kFailed;
}

void PreemptWriter::evict(const PreemptionNote::Victim& victim, bool dry_run, std::uint64_t term,
                          Evicted done) {
  client::ApiRequest request{.method = "POST",
                             .path = pod_path(victim.ns, victim.name) + "/eviction",
                             .body = eviction_body(victim, dry_run),
                             .retry_429 = false,
                             .still_wanted = [this, term] { return leader_.holds(term); }};
  api_.send(std::move(request), [this, done = std::move(done)](client::ApiResponse response) {
    state_.post([done, response = std::move(response)] {
      done(read_eviction_answer(response), response.ok() ? std::string() : response.message());
    });
  });
}

void PreemptWriter::note(const PodName& pod, std::optional<std::string> text, std::uint64_t term,
                         std::function<void(const Status&)> done) {
  client::ApiRequest request{.method = "PATCH",
                             .path = pod_path(pod.ns, pod.name),
                             .body = note_patch(pod.uid, text),
                             .content_type = kMergePatch,
                             .still_wanted = [this, term] { return leader_.holds(term); }};
  api_.send(std::move(request), [this, done = std::move(done)](client::ApiResponse response) {
    state_.post([done, response = std::move(response)] {
      if (response.ok()) return done({});
      done(fail(response.status == 404 ? Code::kNotFound : Code::kUnavailable, response.message()));
    });
  });
}

void PreemptWriter::nominate(const PodName& pod, const std::string& node, std::uint64_t term) {
  client::ApiRequest request{.method = "PATCH",
                             .path = pod_path(pod.ns, pod.name) + "/status",
                             .body = nomination_patch(pod.uid, node),
                             .content_type = kMergePatch,
                             .still_wanted = [this, term] { return leader_.holds(term); }};
  api_.send(std::move(request), [key = pod.ns + "/" + pod.name](client::ApiResponse response) {
    if (!response.ok())
      log::warn("nominated node could not be written",
                {{"pod", key}, {"problem", response.message()}});
  });
}

}  // namespace tessera::service
