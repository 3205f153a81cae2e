#include "filter_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "json/reader.h"
#include "json/writer.h"
#include "stage.h"

namespace tessera::bench {
namespace {

constexpr std::int64_t kLeastSample = 100;

}  // namespace

Sampling::Sampling(std::int64_t nodes) : nodes_(nodes), count_(nodes) {
  if (nodes <= kLeastSample) return;
  const std::int64_t percent = std::max<std::int64_t>(50 - nodes / 125, 5);
  count_ = std::max(kLeastSample, nodes * percent / 100);
}

CallNodes Sampling::next() {
  const CallNodes nodes{.begin = begin_, .count = count_};
  begin_ = (begin_ + count_) % nodes_;
  return nodes;
}

Result<std::unique_ptr<FilterStage>> FilterStage::make(FilterStageOptions options) {
  auto cluster = sim::SyntheticCluster::make(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  std::unique_ptr<FilterStage> stage(new FilterStage(std::move(options), std::move(*cluster)));
  if (auto status = stage->fill(); !status) return tl::unexpected(status.error());
  return stage;
}

Status FilterStage::fill() {
  sim::ApiServer::Options server;
  server.address = fmt::format("127.0.0.1:{}", options_.api_port);
  auto api = sim::ApiServer::start(server, clock_);
  if (!api) return tl::unexpected(api.error());
  api_ = std::move(*api);
  constexpr std::string_view kJson = "application/json";
  for (std::int64_t n = 0; n < nodes(); ++n) {
    const std::string object = cluster_.node_json(n), name = cluster_.node_name(n);
    if (auto status = change("POST", "/api/v1/nodes", object, kJson); !status) return status;
    places_.emplace(name, n);
    entries_.push_back(options_.whole_nodes ? api_->request("GET", "/api/v1/nodes/" + name).body
                                            : '"' + name + '"');
    all_entries_ += (n > 0 ? "," : "") + entries_.back();
  }
  for (std::int64_t i = 0; i < cluster_.options().device_pods; ++i)
    if (auto s = change("POST", std::string(kPods), cluster_.device_pod_json(i), kJson); !s)
      return s;
  for (std::int64_t i = 0; i < cluster_.options().plain_pods; ++i)
    if (auto s = change("POST", std::string(kPods), cluster_.plain_pod_json(i), kJson); !s)
      return s;
  if (options_.kubeconfig_out.empty()) return {};
  std::ofstream file(options_.kubeconfig_out);
  file << kubeconfig() << std::flush;
  if (file) return {};
  return fail(Code::kUnavailable,
              fmt::format("--kubeconfig-out {}: cannot be written", options_.kubeconfig_out));
}

std::int64_t FilterStage::node_of(std::string_view name) const {
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? -1 : found->second;
}

Result<FilterStage::Call> FilterStage::come(const sim::ScenarioPod& pod, const CallNodes& nodes) {
  Call call{.name = pod.name, .uid = {}, .object = {}, .body = {}, .nodes = nodes};
  auto made = api_->request("POST", kPods, cluster_.asking_pod_json(pod));
  if (made.status != 201) return fail(Code::kInternal, "create of a pod: " + made.body);
  json::Parser parser;
  const auto read = parser.parse(std::string_view(made.body));
  if (!read) return tl::unexpected(read.error());
  call.uid = (*read)["metadata"]["uid"].string_or("");
  call.body = body_of(made.body, nodes);
  call.object = std::move(made.body);
  return call;
}

std::string FilterStage::body_of(const std::string& object, const CallNodes& nodes) const {
  std::string list;
  if (nodes.begin == 0 && nodes.count == this->nodes() && nodes.left_out < 0) {
    list = all_entries_;
  } else {
    for (std::int64_t i = 0; i < nodes.count; ++i) {
      const std::int64_t n = (nodes.begin + i) % this->nodes();
      if (n == nodes.left_out) continue;
      if (!list.empty()) list += ',';
      list += entries_[static_cast<std::size_t>(n)];
    }
  }
  std::string body;
  body.reserve(object.size() + list.size() + 100);
  body += R"({"Pod":)";
  body += object;
  body += options_.whole_nodes ? R"(,"Nodes":{"metadata":{},"items":[)"
                               : R"(,"Nodes":null,"NodeNames":[)";
  body += list;
  body += options_.whole_nodes ? R"(]},"NodeNames":null})" : "]}";
  return body;
}

Status FilterStage::go(const Call& call) {
  return change("DELETE", fmt::format("{}/{}?gracePeriodSeconds=0", kPods, call.name));
}

Status FilterStage::change(std::string_view method, const std::string& path,
                           const std::string& body, std::string_view type) {
  const auto answer = api_->request(method, path, body, type);
  if (answer.status >= 200 && answer.status < 300) return {};
  return fail(Code::kInternal, fmt::format("{} {}: {}", method, path, answer.body));
}

Result<FilterVerdict> read_verdict(const FilterStage& stage, const LoadClient::Answer& answer) {
  json::Parser parser;
  const auto read = parser.parse(std::string_view(answer.body));
  if (answer.status != 200 || !read)
    return fail(Code::kInternal,
                fmt::format("filter: {} {}", answer.status, answer.body.substr(0, 400)));
  FilterVerdict verdict;
  verdict.error = (*read)["Error"].string_or("");
  const auto name = [&](std::string_view node) {
    ++verdict.named;
    verdict.node = stage.node_of(node);
    verdict.all_named.push_back(verdict.node);
  };
  (*read)["NodeNames"].for_each_element([&](json::Value node) { name(node.string_or("")); });
  if (verdict.named == 0)
    (*read)["Nodes"]["items"].for_each_element(
        [&](json::Value node) { name(node["metadata"]["name"].string_or("")); });
  for (const char* list : {"FailedNodes", "FailedAndUnresolvableNodes"})
    (*read)[list].for_each_member([&](std::string_view node, json::Value reason) {
      verdict.refused.emplace_back(stage.node_of(node), reason.string_or(""));
    });
  return verdict;
}

}  // namespace tessera::bench
