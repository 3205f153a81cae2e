#include "api_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kAgent = "tessera", kApi = "/api/v1/";
constexpr std::string_view kLock = "hami.io/mutex.lock", kHandshake = "node-handshake";

/// What a request is about; empty `kind`: nothing that counts.
struct Subject {
  std::string kind, pod;
};

/// The pod that a node lock is taken for: "time,namespace,name".
std::string pod_of_lock(std::string_view body) {
  json::Parser parser;
  const auto patch = parser.parse(body);
  if (!patch) return {};
  const auto parts = text::split((*patch)["metadata"]["annotations"][kLock].string_or(""), ',');
  return parts.size() == 3 ? std::string(parts[2]) : std::string();
}

Subject subject_of(std::string_view line, std::string_view body) {
  const auto blank = line.find(' ');
  const std::string_view verb = line.substr(0, blank);
  std::string_view path = line.substr(blank + 1);
  path = path.substr(0, path.find('?'));
  if (!path.starts_with(kApi)) return {};
  auto parts = text::split(path.substr(kApi.size()), '/');
  if (parts.size() > 2 && parts[0] == "namespaces") parts.erase(parts.begin(), parts.begin() + 2);
  if (parts.size() < 2) return {};  // a list or a watch
  if (parts[0] == "pods") {
    const std::string below = parts.size() > 2 ? "/" + std::string(parts[2]) : std::string();
    return {fmt::format("{} pods{}", verb, below), std::string(parts[1])};
  }
  if (parts[0] != "nodes") return {};
  if (body.find(kHandshake) != std::string_view::npos) return {};
  return {fmt::format("{} nodes", verb), pod_of_lock(body)};
}

}  // namespace

void ApiCalls::saw(std::string_view user_agent, std::string_view line, std::string_view body) {
  if (user_agent.substr(0, user_agent.find_first_of("/ ")) != kAgent) return;
  const Subject subject = subject_of(line, body);
  if (subject.kind.empty()) return;
  const std::lock_guard lock(mutex_);
  ++by_kind_[subject.kind];
  ++(subject.pod.empty() ? other_ : by_pod_[subject.pod]);
}

void ApiCalls::clear() {
  const std::lock_guard lock(mutex_);
  by_pod_.clear();
  by_kind_.clear();
  other_ = 0;
}

ApiCalls::Figures ApiCalls::figures() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> counts;
  Figures figures{.pods = by_pod_.size(), .named = 0, .other = other_};
  for (const auto& [pod, count] : by_pod_) {
    figures.named += count;
    counts.push_back(count);
  }
  if (counts.empty()) return figures;
  std::sort(counts.begin(), counts.end());
  figures.median = counts[counts.size() / 2];
  figures.most = counts.back();
  figures.mean =
      static_cast<double>(figures.named + figures.other) / static_cast<double>(figures.pods);
  return figures;
}

std::string ApiCalls::text() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> pieces;
  for (const auto& [kind, count] : by_kind_) pieces.push_back(fmt::format("{} {}", kind, count));
  return text::join(pieces, ", ");
}

}  // namespace tessera::bench
