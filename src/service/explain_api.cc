#include "service/explain_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "json/writer.h"
#include "k8s/decode.h"
#include "service/explain_text.h"

namespace tessera::service {
namespace {

constexpr std::int64_t kDefaultLimit = 50, kHighestLimit = 500;

struct Question {
  std::size_t limit = kDefaultLimit;
  std::string ns, name;                      // of GET
  std::shared_ptr<const FactReader> reader;  // of POST: that read the manifest
  std::optional<core::Request> request;
  ExplainSubject subject;
};

Result<std::size_t> limit_of(const http::Request& request) {
  const std::string text = request.query_value("limit");
  if (text.empty()) return static_cast<std::size_t>(kDefaultLimit);
  const Result<std::int64_t> value = text::parse_int(text, 32);
  if (!value || *value < 1)
    return fail(Code::kInvalid,
                fmt::format("limit: {} is not a number above 0", text::quote(text)));
  return static_cast<std::size_t>(std::min(*value, kHighestLimit));
}

/// The manifest of a pod that need not exist.
Status read_manifest(const Scheduler& s, const std::string& body, Question& question) {
  question.reader = s.live.get();
  json::Parser parser;
  const Result<json::Value> object = parser.parse(body);
  if (!object) return fail(Code::kInvalid, "the manifest is not JSON: " + object.error().what);
  if ((*object)["spec"].kind() != json::Kind::kObject)
    return fail(Code::kInvalid, "the manifest is not a pod: spec is missing");
  Result<k8s::Pod> pod = k8s::decode_pod(*object, question.reader->keep());
  if (!pod) return tl::unexpected(pod.error());
  if (pod->ns.empty()) pod->ns = "default";
  Result<vendors::Demand> demand =
      question.reader->vendors().demand(*pod, question.reader->defaults());
  if (!demand) return tl::unexpected(demand.error());
  question.subject = {.ns = pod->ns,
                      .name = pod->name.empty() ? pod->generate_name : pod->name,
                      .uid = {},
                      .state = "not stored",
                      .warnings = std::move(demand->warnings)};
  demand->request.uid = {};
  question.request = std::move(demand->request);
  return {};
}

ExplainScene scene_of(Scheduler& s, const FactReader& reader, std::size_t limit) {
  return {.cluster = s.books.cluster(),
          .reader = reader,
          .options = {.prefer_unlocked = s.options.prefer_unlocked_nodes},
          .leader = s.leader.leads(),
          .now = s.clock.wall(),
          .limit = limit};
}

http::Response answer_manifest(Scheduler& s, const Question& question) {
  const auto reader = s.live.get();
  if (reader != question.reader)
    return api_error(503, "the device configuration has just changed, ask again");
  const ExplainScene scene = scene_of(s, *reader, question.limit);
  if (!question.request->asks_devices())
    return {.body = explain_settled(scene, question.subject, {}, nullptr, "asks for no device")};
  return {.body = explain_request(scene, question.subject, *question.request)};
}

http::Response answer_known(Scheduler& s, const Question& question) {
  const PodRecord* pod = s.books.pod_by_name(question.ns, question.name);
  if (pod == nullptr) {
    return api_error(404, fmt::format("pod {}/{} is not known here: it does not exist or asks for "
                                      "no device",
                                      question.ns, question.name));
  }
  const auto reader = s.live.get();
  const ExplainScene scene = scene_of(s, *reader, question.limit);
  ExplainSubject subject{.ns = pod->fact.ns,
                         .name = pod->fact.name,
                         .uid = pod->fact.uid,
                         .state = "pending",
                         .warnings = {}};
  if (!pod->fact.problem.empty()) subject.warnings.push_back(pod->fact.problem);
  const core::Hold* hold = s.books.cluster().hold({pod->fact.uid});
  if (pod->fact.finished || !pod->fact.node.empty()) {
    subject.state = pod->fact.finished ? "finished" : "bound";
    return {.body = explain_settled(scene, subject, pod->fact.node,
                                    hold == nullptr ? nullptr : &hold->allocation, {})};
  }
  if (hold != nullptr) {
    subject.state = "reserved";
    subject.warnings.push_back(
        fmt::format("a filter call has reserved it on node {}; the verdicts count that as free",
                    hold->allocation.node));
  }
  if (!pod->request)
    return {.body = explain_settled(scene, subject, {}, nullptr, "what it asks for is not known")};
  return {.body = explain_request(scene, subject, *pod->request)};
}

}  // namespace

http::Response api_error(int status, std::string_view problem) {
  json::Writer w;
  w.begin_object().key("error").string(problem).end_object();
  return {.status = status, .body = std::move(w).take()};
}

void handle_explain(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  auto question = std::make_shared<Question>();
  const Result<std::size_t> limit = limit_of(request);
  if (!limit) return respond(api_error(400, limit.error().what));
  question->limit = *limit;
  const bool given = request.method == "POST";
  if (given) {
    if (const Status read = read_manifest(s, request.body, *question); !read)
      return respond(api_error(400, read.error().what));
  } else {
    question->ns = request.query_value("namespace");
    question->name = request.query_value("name");
    if (question->ns.empty()) question->ns = "default";
    if (question->name.empty()) return respond(api_error(400, "name: missing"));
  }
  s.state.post([&s, question, respond, given] {
    if (!s.caches->filled()) return respond(api_error(503, "not ready: " + s.caches->missing()));
    respond(given ? answer_manifest(s, *question) : answer_known(s, *question));
  });
}

}  // namespace tessera::service
