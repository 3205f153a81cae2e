#include "service/binding_writer.h"

#include <fmt/format.h>

#include <utility>

#include "client/binding.h"
#include "json/writer.h"
#include "obs/log.h"
#include "service/keys.h"

namespace tessera::service {
namespace {

constexpr int kVerifyTries = 3;
constexpr std::chrono::milliseconds kVerifyPause{200};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string label_patch(const std::string& node) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("labels").begin_object();
  w.key(kAssignedNodeKey).string(node).end_object().end_object().end_object();
  return std::move(w).take();
}

}  // namespace

bool is_label_value(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_alphanumeric(text.front()) ||
      !is_alphanumeric(text.back()))
    return false;
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
         std::string_view::npos;
}

struct BindingWriter::Job {
  std::string ns, name, uid, node;
  std::uint64_t term = 0;
  Done done;
};

BindingWriter::BindingWriter(client::ApiClient& api, TaskThread& state, LockWriter& locks,
                             const LiveReader& live, const Leadership& leader, const Clock& clock,
                             bool write_label_by_patch)
    : api_(api),
      state_(state),
      locks_(locks),
      live_(live),
      leader_(leader),
      clock_(clock),
      write_label_by_patch_(write_label_by_patch) {}

std::string BindingWriter::body(const BindingOrder& order) const {
  const client::BindingTarget target{order.ns, order.name, order.uid, order.node};
  return client::binding_body(target, [&](json::Writer& w) {
    if (order.allocation == nullptr) return;
    w.key("annotations").begin_object();
    w.key(kAssignedNodeKey).string(order.node);
    w.key(kAssignedTimeKey).string(std::to_string(unix_seconds(order.decided_at)));
    w.key(kBindPhaseKey).string(kPhaseAllocating);
    w.key(kBindTimeKey).string(std::to_string(unix_seconds(clock_.wall())));
    const auto reader = live_.get();
    for (const auto& [key, value] :
         reader->vendors().encode(*order.allocation, clock_.wall(), order.carried_keys))
      w.key(key).string(value);
    w.end_object();
    if (is_label_value(order.node))
      w.key("labels").begin_object().key(kAssignedNodeKey).string(order.node).end_object();
  });
}

void BindingWriter::write(const BindingOrder& order, Done done) {
  auto job = std::make_shared<Job>(Job{.ns = order.ns,
                                       .name = order.name,
                                       .uid = order.uid,
                                       .node = order.node,
                                       .term = order.term,
                                       .done = std::move(done)});
  client::ApiRequest request{
      .method = "POST",
      .path = client::binding_path(order.ns, order.name),
      .body = body(order),
      .still_wanted = [this, term = order.term] { return leader_.holds(term); }};
  api_.send(std::move(request), [this, job](client::ApiResponse response) {
    state_.post([this, job, response = std::move(response)] { answered(job, response); });
  });
}

void BindingWriter::answered(const std::shared_ptr<Job>& job, const client::ApiResponse& response) {
  const client::BindingAnswer answer = client::judge_binding(response);
  if (answer == client::BindingAnswer::kBound) return bound(job);
  if (response.status == 404) {
    return job->done(BindingOutcome::kRefused, fmt::format("pod \"{}\" not found", job->name));
  }
  if (answer == client::BindingAnswer::kRefused)
    return job->done(BindingOutcome::kRefused, response.message());
  verify(job, response.message(), kVerifyTries);
}

void BindingWriter::verify(std::shared_ptr<Job> job, std::string problem, int tries_left) {
  locks_.fetch_pod(job->ns, job->name,
                   [this, job, problem, tries_left](Result<std::optional<PodFact>> answer) {
                     if (!answer) {
                       if (tries_left <= 1) return job->done(BindingOutcome::kUnknown, problem);
                       return state_.after(kVerifyPause, [this, job, problem, tries_left] {
                         verify(job, problem, tries_left - 1);
                       });
                     }
                     if (!*answer)
                       return job->done(BindingOutcome::kRefused,
                                        fmt::format("pod \"{}\" not found", job->name));
                     const PodFact& pod = **answer;
                     if (!job->uid.empty() && pod.uid != job->uid) {
                       return job->done(BindingOutcome::kRefused,
                                        fmt::format("pod {}/{} has UID {}, the bind names UID {}",
                                                    job->ns, job->name, pod.uid, job->uid));
                     }
                     if (pod.node == job->node) return bound(job);
                     job->done(BindingOutcome::kRefused, problem);
                   });
}

void BindingWriter::bound(const std::shared_ptr<Job>& job) {
  job->done(BindingOutcome::kBound, {});
  if (!write_label_by_patch_ || !is_label_value(job->node)) return;
  client::ApiRequest request{.method = "PATCH",
                             .path = client::pod_path(job->ns, job->name),
                             .body = label_patch(job->node),
                             .content_type = "application/merge-patch+json",
                             .still_wanted = [this, job] { return leader_.holds(job->term); }};
  api_.send(std::move(request), [job](const client::ApiResponse& response) {
    if (!response.ok())
      log::warn("node label could not be written",
                {{"pod", job->ns + "/" + job->name}, {"problem", response.message()}});
  });
}

}  // namespace tessera::service
