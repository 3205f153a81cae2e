#include "service/lock_writer.h"

#include <fmt/format.h>

#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "service/keys.h"

namespace tessera::service {
namespace {

constexpr int kTries = 5;
constexpr std::chrono::milliseconds kFirstPause{100};

std::string node_path(const std::string& node) { return "/api/v1/nodes/" + node; }

std::string lock_patch(const std::string* value, std::string_view resource_version) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object();
  w.key("annotations").begin_object().key(kNodeLockKey);
  if (value != nullptr)
    w.string(*value);
  else
    w.null();
  w.end_object();
  w.key("resourceVersion").string(resource_version).end_object().end_object();
  return std::move(w).take();
}

}  // namespace

struct LockWriter::Job {
  std::string node;
  std::string value;  ///< to write, or to remove
  bool clearing = false;
  std::optional<std::string> replaces;  ///< of set
  std::uint64_t term = 0;
  int tries = 0;
  Done done;
};

LockWriter::LockWriter(client::ApiClient& api, TaskThread& state, const LiveReader& live,
                       Books& books, const Leadership& leader)
    : api_(api), state_(state), live_(live), books_(books), leader_(leader) {}

void LockWriter::set(const std::string& node, const std::string& value,
                     std::optional<std::string> replaces, std::uint64_t term, Done done) {
  patch(std::make_shared<Job>(Job{.node = node,
                                  .value = value,
                                  .replaces = std::move(replaces),
                                  .term = term,
                                  .done = std::move(done)}));
}

void LockWriter::clear(const std::string& node, const std::string& value, std::uint64_t term,
                       Done done) {
  auto job = std::make_shared<Job>(
      Job{.node = node, .value = value, .clearing = true, .term = term, .done = std::move(done)});
  if (settled(*job)) return job->done({});
  patch(std::move(job));
}

bool LockWriter::settled(const Job& job) const {
  const auto found = books_.nodes().find(job.node);
  if (found == books_.nodes().end()) return job.clearing;  // the lock went with its node
  const std::optional<std::string>& lock = found->second.fact.lock;
  return job.clearing ? lock != job.value : lock == job.value;
}

void LockWriter::patch(std::shared_ptr<Job> job) {
  if (!leader_.holds(job->term)) return job->done(fail(Code::kUnavailable, leader_.why_over()));
  const NodeRecord* node = books_.node(job->node);
  if (node == nullptr)
    return job->done(fail(Code::kNotFound, fmt::format("node \"{}\" not found", job->node)));
  ++job->tries;
  client::ApiRequest request{
      .method = "PATCH",
      .path = node_path(job->node),
      .body = lock_patch(job->clearing ? nullptr : &job->value, node->fact.resource_version),
      .content_type = "application/merge-patch+json",
      .still_wanted = [this, term = job->term] { return leader_.holds(term); }};
  api_.send(std::move(request), [this, job](client::ApiResponse response) {
    Result<NodeFact> fact =
        response.ok() ? read(response.body) : fail(Code::kUnavailable, response.message());
    state_.post([this, job, response = std::move(response), fact = std::move(fact)]() mutable {
      if (fact) books_.apply(std::move(*fact));
      patched(job, response);
    });
  });
}

void LockWriter::patched(const std::shared_ptr<Job>& job, const client::ApiResponse& response) {
  if (response.ok()) return job->done({});
  if (response.status == 404) return job->done(fail(Code::kNotFound, response.message()));
  // Refused because the node has changed, or nobody knows whether it was written: look before the
  // next step.
  look(job, response.message());
}

void LockWriter::look(std::shared_ptr<Job> job, std::string problem) {
  api_.send({.path = node_path(job->node)}, [this, job, problem = std::move(problem)](
                                                client::ApiResponse response) {
    Result<NodeFact> fact =
        response.ok() ? read(response.body) : fail(Code::kUnavailable, response.message());
    state_.post([this, job, problem, status = response.status, fact = std::move(fact)]() mutable {
      if (status == 404)
        return job->done(fail(Code::kNotFound, fmt::format("node \"{}\" not found", job->node)));
      if (!fact) return retry(job, problem);
      books_.apply(std::move(*fact));
      if (settled(*job)) return job->done({});
      const NodeRecord* node = books_.node(job->node);
      if (!job->clearing && node != nullptr && node->fact.lock &&
          node->fact.lock != job->replaces) {
        return job->done(fail(
            Code::kConflict, fmt::format("node {} was locked by {}", job->node, *node->fact.lock)));
      }
      retry(job, problem);
    });
  });
}

void LockWriter::retry(std::shared_ptr<Job> job, const std::string& problem) {
  if (job->tries >= kTries) {
    return job->done(
        fail(Code::kUnavailable,
             fmt::format("failed to {} node lock (node={}, {} tries): {}",
                         job->clearing ? "release" : "set", job->node, job->tries, problem)));
  }
  // The first try after a conflict follows at once: the books are fresh. Later ones give the server
  // time.
  const auto pause =
      job->tries == 1 ? std::chrono::milliseconds(0) : kFirstPause * (1 << (job->tries - 2));
  state_.after(pause, [this, job = std::move(job)]() mutable { patch(std::move(job)); });
}

void LockWriter::fetch_pod(const std::string& ns, const std::string& name,
                           std::function<void(Result<std::optional<PodFact>>)> done) {
  api_.send({.path = fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name)},
            [this, done = std::move(done)](client::ApiResponse response) mutable {
              Result<std::optional<PodFact>> answer = std::optional<PodFact>();
              if (response.ok()) {
                json::Parser parser;
                Result<json::Value> object = parser.parse(std::move(response.body));
                Result<PodFact> fact =
                    object ? live_.get()->read_pod(*object) : tl::unexpected(object.error());
                if (fact)
                  answer = std::move(*fact);
                else
                  answer = tl::unexpected(fact.error());
              } else if (response.status != 404) {
                answer = fail(Code::kUnavailable, response.message());
              }
              state_.post([done = std::move(done), answer = std::move(answer)]() mutable {
                done(std::move(answer));
              });
            });
}

Result<NodeFact> LockWriter::read(const std::string& body) const {
  json::Parser parser;
  Result<json::Value> object = parser.parse(body);
  if (!object) return tl::unexpected(object.error());
  return live_.get()->read_node(*object);
}

}  // namespace tessera::service
