// `tessera explain`: asks the running server and shows its answer as a table.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands.h"
#include "apps/manifest.h"
#include "apps/table.h"
#include "base/read_file.h"
#include "client/api.h"
#include "json/reader.h"
#include "obs/metrics.h"

namespace tessera::apps {
namespace {

Result<std::string> read_manifest(const std::string& path) {
  return read_file(path == "-" ? "/dev/stdin" : path);
}

Result<client::ApiRequest> request_of(const ExplainOptions& options) {
  client::ApiRequest request;
  request.timeout = std::chrono::seconds(30);
  if (!options.file.empty()) {
    const Result<std::string> text = read_manifest(options.file);
    if (!text) return tl::unexpected(text.error());
    Result<std::string> body = manifest_json(*text);
    if (!body) return fail(body.error().code, options.file + ": " + body.error().what);
    request.method = "POST";
    request.path = fmt::format("/v1/explain?limit={}", options.limit);
    request.body = std::move(*body);
    return request;
  }
  const std::string& what = options.words[1];
  const std::size_t slash = what.find('/');
  const std::string ns = slash == std::string::npos ? "default" : what.substr(0, slash);
  const std::string name = slash == std::string::npos ? what : what.substr(slash + 1);
  const auto plain = [](const std::string& word) {
    return !word.empty() &&
           word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos;
  };
  if (!plain(ns) || !plain(name))
    return fail(Code::kInvalid, fmt::format("\"{}\" is not NAMESPACE/NAME", what));
  request.path = fmt::format("/v1/explain?namespace={}&name={}&limit={}", ns, name, options.limit);
  return request;
}

std::string text_of(json::Value value) {
  if (const auto text = value.string()) return std::string(*text);
  return value.is_null_or_missing() ? std::string() : value.dump();
}

std::string figures(json::Value cards) {
  std::string out;
  cards.for_each_element([&](json::Value card) {
    if (!out.empty()) out += "; ";
    out +=
        fmt::format("{} {} of {}: {} MiB, {} %, {} slots", text_of(card["vendor"]),
                    text_of(card["eligible"]), text_of(card["cards"]), text_of(card["freeMemory"]),
                    text_of(card["freeCores"]), text_of(card["freeSlots"]));
  });
  return out;
}

void show_decision(json::Value answer) {
  const json::Value pod = answer["pod"];
  fmt::print("pod {}/{}: {}\n", text_of(pod["namespace"]), text_of(pod["name"]),
             text_of(answer["state"]));
  if (text_of(answer["role"]) == "follower")
    fmt::print("answered by a follower: the leader decides, perhaps on newer news\n");
  answer["warnings"].for_each_element(
      [](json::Value warning) { fmt::print("warning: {}\n", text_of(warning)); });
  const json::Value decision = answer["decision"];
  if (!decision.is_null_or_missing()) {
    const std::string score = text_of(decision["score"]);  // none of a pod that is bound
    fmt::print("node {}{}\n", text_of(decision["node"]), score.empty() ? "" : ", score " + score);
    decision["annotations"].for_each_member([](std::string_view key, json::Value value) {
      fmt::print("  {}: {}\n", key, text_of(value));
    });
  }
  const std::string sentence = text_of(answer["sentence"]);
  if (!sentence.empty()) fmt::print("{}\n", sentence);
}

void show_nodes(json::Value answer) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "VERDICT", "CARDS THAT MAY SERVE IT: MOST FREE ON ONE"}};
  answer["verdicts"].for_each_element([&](json::Value verdict) {
    const bool fits = verdict["fits"].boolean().value_or(false);
    std::string words =
        fits ? "fits, score " + text_of(verdict["score"]) : text_of(verdict["reason"]);
    if (verdict["unresolvable"].boolean().value_or(false)) words += " (eviction cannot help)";
    if (verdict["locked"].boolean().value_or(false)) words += ", locked";
    rows.push_back({text_of(verdict["node"]), std::move(words), figures(verdict["cards"])});
  });
  if (rows.size() > 1) print_table(rows);
  const json::Value nodes = answer["nodes"];
  if (nodes["shown"].integer().value_or(0) < nodes["total"].integer().value_or(0)) {
    fmt::print("{} of {} nodes shown, see --limit\n", text_of(nodes["shown"]),
               text_of(nodes["total"]));
  }
}

int complain(const std::string& problem) {
  fmt::print(stderr, "tessera: {}\n", problem);
  return 1;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  Result<client::ApiRequest> request = request_of(options);
  if (!request) return complain(request.error().what);
  obs::Metrics metrics;
  client::ApiClient server({.server = options.server,
                            .token_file = options.token_file,
                            .ca_file = options.ca_file,
                            .cert_file = options.cert_file,
                            .key_file = options.key_file,
                            .insecure = options.insecure},
                           {.user_agent = "tessera/" TESSERA_VERSION, .qps = -1}, metrics);
  const client::ApiResponse response = server.call(std::move(*request));
  if (response.status == 0) return complain(options.server + ": " + response.message());
  json::Parser parser;
  const Result<json::Value> answer = parser.parse(response.body);
  if (!response.ok()) {
    const std::string words = answer ? text_of((*answer)["error"]) : std::string();
    return complain(words.empty() ? fmt::format("{}: code {}", options.server, response.status)
                                  : words);
  }
  if (!answer) return complain(options.server + ": " + answer.error().what);
  if (options.json) {
    fmt::print("{}\n", response.body);
    return 0;
  }
  show_decision(*answer);
  show_nodes(*answer);
  return 0;
}

}  // namespace tessera::apps
