// One scheduling cycle after the other: filter, then bind in the background, or the reason on the
// pod and a pause.
#include "sim/scheduler_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "json/writer.h"
#include "obs/log.h"

namespace tessera::sim {
namespace {

constexpr std::size_t kLatencies = 1000, kBoundTimes = 10'000;
constexpr std::chrono::milliseconds kExtenderTimeout{
    30'000};  // httpTimeout of the rendered configuration

std::string pod_path(std::string_view ns, std::string_view name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name);
}

void append_reasons(json::Value map, std::vector<std::string>& reasons) {
  map.for_each_member(
      [&](std::string_view, json::Value text) { reasons.emplace_back(text.string_or("")); });
}

void remember(std::deque<double>& samples, std::size_t most, MonoTime::duration sample) {
  samples.push_back(std::chrono::duration<double, std::milli>(sample).count());
  if (samples.size() > most) samples.pop_front();
}

std::string call_failure(const client::ApiResponse& response) {
  if (response.status == 0) return response.error;
  return response.status == 200 ? std::string() : fmt::format("code {}", response.status);
}

}  // namespace

FilterAnswer read_filter_answer(const client::ApiResponse& response, bool full_nodes) {
  FilterAnswer answer;
  answer.error = call_failure(response);
  if (!answer.error.empty()) return answer;
  json::Parser parser;
  const Result<json::Value> body = parser.parse(std::string_view(response.body));
  if (!body) {
    answer.error = body.error().what;
    return answer;
  }
  answer.error = body->find_ignoring_case("Error").string_or("");
  if (full_nodes) {
    body->find_ignoring_case("Nodes")["items"].for_each_element([&](json::Value node) {
      answer.nodes.emplace_back(node["metadata"]["name"].string_or(""));
    });
  } else {
    body->find_ignoring_case("NodeNames").for_each_element([&](json::Value name) {
      answer.nodes.emplace_back(name.string_or(""));
    });
  }
  append_reasons(body->find_ignoring_case("FailedNodes"), answer.reasons);
  append_reasons(body->find_ignoring_case("FailedAndUnresolvableNodes"), answer.reasons);
  return answer;
}

std::string best_node(const std::vector<std::string>& nodes, const client::ApiResponse& scores) {
  std::map<std::string, std::int64_t, std::less<>> by_host;
  json::Parser parser;
  const Result<json::Value> list = parser.parse(std::string_view(scores.body));
  if (call_failure(scores).empty() && list) {
    list->for_each_element([&](json::Value entry) {
      by_host[std::string(entry.find_ignoring_case("Host").string_or(""))] +=
          entry.find_ignoring_case("Score").integer().value_or(0);
    });
  }
  const auto score = [&](const std::string& node) {
    const auto found = by_host.find(node);
    return found == by_host.end() ? 0 : found->second;
  };
  return *std::max_element(nodes.begin(), nodes.end(),
                           [&](const auto& a, const auto& b) { return score(a) < score(b); });
}

std::string read_bind_answer(const client::ApiResponse& response) {
  const std::string failure = call_failure(response);
  if (!failure.empty()) return failure;
  json::Parser parser;
  const Result<json::Value> body = parser.parse(std::string_view(response.body));
  return body ? std::string(body->find_ignoring_case("Error").string_or("")) : body.error().what;
}

void SchedulerLoop::Impl::pump() {
  while (!filtering_ && nodes_synced_ && pods_synced_) {
    const std::optional<std::string> uid = queue_.pop(clock_.mono());
    if (!uid) return;
    const auto it = pending_.find(*uid);
    if (it == pending_.end()) {
      queue_.remove(*uid);
    } else if (it->second.managed) {
      filter(it->second);
    } else {
      bind_without_extender(it->second);
    }
  }
}

void SchedulerLoop::Impl::pump_later(std::chrono::milliseconds delay) {
  // One millisecond more, so that the pod is surely ready when the timer fires.
  api_.after(delay + std::chrono::milliseconds(1), guarded([](Impl& i) { i.pump(); }));
}

/// The two node members of a call, as JSON.
std::string SchedulerLoop::Impl::nodes_in_call(const std::vector<std::string>& names) const {
  json::Writer w;
  if (!options_.full_nodes) {
    w.begin_array();
    for (const std::string& name : names) w.string(name);
    w.end_array();
    return R"("Nodes":null,"NodeNames":)" + std::move(w).take();
  }
  w.begin_object().key("metadata").begin_object().end_object().key("items").begin_array();
  for (const std::string& name : names) {
    if (const auto node = nodes_.find(name); node != nodes_.end()) w.raw(node->second.text);
  }
  w.end_array().end_object();
  return fmt::format(R"("Nodes":{},"NodeNames":null)", w.text());
}

std::string SchedulerLoop::Impl::filter_body(const Pending& pod) {
  if (nodes_text_.empty()) {
    std::vector<std::string> names;
    names.reserve(nodes_.size());
    for (const auto& [name, node] : nodes_) names.push_back(name);
    nodes_text_ = nodes_in_call(names);
  }
  return fmt::format(R"({{"Pod":{},{}}})", pod.text, nodes_text_);
}

void SchedulerLoop::Impl::filter(const Pending& pod) {
  filtering_ = true;
  client::ApiRequest request{
      .method = "POST", .path = "/filter", .body = filter_body(pod), .timeout = kExtenderTimeout};
  extender_->send(std::move(request),
                  guarded([uid = pod.uid, sent = clock_.mono(), changes = changes_](
                              Impl& i, const client::ApiResponse& response) {
                    i.filtered(uid, sent, changes, response);
                  }));
}

void SchedulerLoop::Impl::filtered(const std::string& uid, MonoTime sent, std::uint64_t changes,
                                   const client::ApiResponse& response) {
  filtering_ = false;
  ++stats_.filters;
  remember(latencies_ms_, kLatencies, clock_.mono() - sent);
  const auto it = pending_.find(uid);
  if (it == pending_.end()) return pump();
  const FilterAnswer answer = read_filter_answer(response, options_.full_nodes);
  if (!answer.error.empty()) {
    ++stats_.errors;
    failed(it->second, "SchedulerError", answer.error);
    pump_later(queue_.back_off(uid, clock_.mono()));
  } else if (answer.nodes.empty()) {
    ++stats_.unschedulable;
    failed(it->second, "Unschedulable", unschedulable_message(nodes_.size(), answer.reasons));
    // A change that came while the call was under way may already have cured it.
    if (changes == changes_) {
      queue_.park(uid, clock_.mono());
    } else {
      pump_later(queue_.back_off(uid, clock_.mono()));
    }
  } else if (answer.nodes.size() > 1) {
    return prioritize(it->second, answer.nodes);  // the cycle goes on
  } else {
    bind(it->second, answer.nodes.front());
  }
  pump();
}

void SchedulerLoop::Impl::prioritize(const Pending& pod, std::vector<std::string> nodes) {
  filtering_ = true;
  client::ApiRequest request{
      .method = "POST",
      .path = "/prioritize",
      .body = fmt::format(R"({{"Pod":{},{}}})", pod.text, nodes_in_call(nodes)),
      .timeout = kExtenderTimeout};
  extender_->send(std::move(request), guarded([uid = pod.uid, nodes = std::move(nodes)](
                                                  Impl& i, const client::ApiResponse& response) {
                    i.prioritized(uid, nodes, response);
                  }));
}

void SchedulerLoop::Impl::prioritized(const std::string& uid, const std::vector<std::string>& nodes,
                                      const client::ApiResponse& response) {
  filtering_ = false;
  ++stats_.prioritized;
  if (const auto it = pending_.find(uid); it != pending_.end())
    bind(it->second, best_node(nodes, response));
  pump();
}

void SchedulerLoop::Impl::bind(const Pending& pod, const std::string& node) {
  json::Writer w;
  w.begin_object().key("PodName").string(pod.name).key("PodNamespace").string(pod.ns);
  w.key("PodUID").string(pod.uid).key("Node").string(node).end_object();
  client::ApiRequest request{
      .method = "POST", .path = "/bind", .body = std::move(w).take(), .timeout = kExtenderTimeout};
  extender_->send(std::move(request), guarded([uid = pod.uid, first_seen = pod.first_seen, node](
                                                  Impl& i, const client::ApiResponse& response) {
                    i.bound(uid, first_seen, node, read_bind_answer(response));
                  }));
}

/// For pods that do not concern the extender: the nodes in turn.
void SchedulerLoop::Impl::bind_without_extender(const Pending& pod) {
  if (nodes_.empty()) return queue_.park(pod.uid, clock_.mono());
  const std::string node =
      std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(rotation_++ % nodes_.size()))->first;
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Binding");
  w.key("metadata")
      .begin_object()
      .key("name")
      .string(pod.name)
      .key("namespace")
      .string(pod.ns)
      .key("uid")
      .string(pod.uid)
      .end_object();
  w.key("target")
      .begin_object()
      .key("apiVersion")
      .string("v1")
      .key("kind")
      .string("Node")
      .key("name")
      .string(node)
      .end_object()
      .end_object();
  client::ApiRequest request{.method = "POST",
                             .path = pod_path(pod.ns, pod.name) + "/binding",
                             .body = std::move(w).take()};
  api_.send(std::move(request), guarded([uid = pod.uid, first_seen = pod.first_seen, node](
                                            Impl& i, const client::ApiResponse& response) {
              i.bound(uid, first_seen, node, response.ok() ? "" : response.message());
            }));
}

void SchedulerLoop::Impl::bound(const std::string& uid, MonoTime first_seen,
                                const std::string& node, const std::string& error) {
  const auto it = pending_.find(uid);
  if (error.empty()) {
    ++stats_.binds;
    remember(bound_ms_, kBoundTimes, clock_.mono() - first_seen);
    if (it != pending_.end())
      write_event(
          it->second, false, "Scheduled",
          fmt::format("Successfully assigned {}/{} to {}", it->second.ns, it->second.name, node));
    return;
  }
  ++stats_.bind_errors;
  stats_.last_error = error;
  if (it == pending_.end()) return;
  failed(it->second, "SchedulerError", "binding rejected: " + error);
  pump_later(queue_.back_off(uid, clock_.mono()));
}

void SchedulerLoop::Impl::failed(Pending& pod, const std::string& condition_reason,
                                 const std::string& message) {
  if (condition_reason == "SchedulerError") stats_.last_error = message;
  if (pod.reason == message) return;
  pod.reason = message;
  write_condition(pod, condition_reason, message);
  write_event(pod, true, "FailedScheduling", message);
}

void SchedulerLoop::Impl::write_condition(const Pending& pod, const std::string& reason,
                                          const std::string& message) {
  json::Writer w;
  w.begin_object().key("status").begin_object().key("conditions").begin_array().begin_object();
  w.key("type")
      .string("PodScheduled")
      .key("status")
      .string("False")
      .key("reason")
      .string(reason)
      .key("message")
      .string(message);
  w.key("lastProbeTime").null().key("lastTransitionTime").string(format_rfc3339(clock_.wall()));
  w.end_object().end_array().end_object().end_object();
  client::ApiRequest request{.method = "PATCH",
                             .path = pod_path(pod.ns, pod.name) + "/status",
                             .body = std::move(w).take(),
                             .content_type = "application/strategic-merge-patch+json"};
  api_.send(std::move(request), [](const client::ApiResponse& response) {
    if (!response.ok() && response.status != 404)
      log::debug("scheduler loop: condition not written", {{"error", response.message()}});
  });
}

void SchedulerLoop::Impl::write_event(const Pending& pod, bool warning, const std::string& reason,
                                      const std::string& message) {
  const std::string now = format_rfc3339(clock_.wall());
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Event");
  w.key("metadata")
      .begin_object()
      .key("name")
      .string(fmt::format("{}.{:x}.{}", pod.name, unix_seconds(clock_.wall()), events_++))
      .key("namespace")
      .string(pod.ns)
      .end_object();
  w.key("involvedObject").begin_object().key("apiVersion").string("v1").key("kind").string("Pod");
  w.key("namespace")
      .string(pod.ns)
      .key("name")
      .string(pod.name)
      .key("uid")
      .string(pod.uid)
      .end_object();
  w.key("type")
      .string(warning ? "Warning" : "Normal")
      .key("reason")
      .string(reason)
      .key("message")
      .string(message);
  w.key("source").begin_object().key("component").string(options_.scheduler_name).end_object();
  w.key("firstTimestamp")
      .string(now)
      .key("lastTimestamp")
      .string(now)
      .key("count")
      .integer(1)
      .end_object();
  client::ApiRequest request{.method = "POST",
                             .path = fmt::format("/api/v1/namespaces/{}/events", pod.ns),
                             .body = std::move(w).take(),
                             .low_priority = true};
  api_.send(std::move(request), [](const client::ApiResponse&) {});
}

}  // namespace tessera::sim
