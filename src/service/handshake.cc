#include "service/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "json/writer.h"
#include "obs/log.h"
#include "vendors/handshake.h"

namespace tessera::service {
namespace {

using vendors::HandshakeKind;

/// A write that is not seen in the annotation by then was lost, or somebody undid it.
constexpr std::chrono::seconds kWriteSettles{10};

HandshakeKind kind_of(const HandshakeFact& handshake) {
  return vendors::handshake_kind(handshake.text ? &*handshake.text : nullptr);
}

}  // namespace

void HandshakeHealth::judge(NodeFact& fact) {
  const auto known = nodes_.find(fact.name);
  if (known != nodes_.end() && known->second.uid != fact.uid) nodes_.erase(known);
  for (const HandshakeFact& handshake : fact.handshakes) {
    if (!handshake.must_report || handshake.vendor.v >= fact.spec.offered.size()) continue;
    const bool allocatable = fact.spec.offered[handshake.vendor.v];
    const auto node = nodes_.find(fact.name);
    if (node == nodes_.end() && allocatable) continue;
    Entry& entry = node == nodes_.end() ? nodes_[fact.name] : node->second;
    entry.uid = fact.uid;
    auto loss = entry.losses.find(handshake.key);
    if (loss == entry.losses.end()) {
      if (!allocatable) entry.losses[handshake.key] = {handshake.text, false};
      continue;
    }
    if (handshake.text != loss->second.text && kind_of(handshake) == HandshakeKind::kReport) {
      loss->second.reported = true;
    }
    if (!allocatable) continue;
    if (loss->second.reported)
      entry.losses.erase(loss);
    else
      fact.spec.offered[handshake.vendor.v] = false;
  }
  const auto node = nodes_.find(fact.name);
  if (node != nodes_.end() && node->second.losses.empty()) nodes_.erase(node);
}

std::size_t HandshakeHealth::waiting() const {
  std::size_t sum = 0;
  for (const auto& [node, entry] : nodes_) sum += entry.losses.size();
  return sum;
}

HandshakeWriter::HandshakeWriter(client::ApiClient& api, const Books& books,
                                 const Leadership& leader, const Clock& clock, Options options)
    : api_(api), books_(books), leader_(leader), clock_(clock), options_(options) {}

/// A text that nobody will ever change is repaired, a report is answered once in a while; a request
/// that can be read stays.
bool HandshakeWriter::due(const std::string& node, const HandshakeFact& handshake) const {
  const HandshakeKind kind = kind_of(handshake);
  if (kind == HandshakeKind::kRequesting) return false;
  const auto known = asked_.find(node);
  if (known == asked_.end()) return true;
  const auto asked = known->second.find(handshake.key);
  if (asked == known->second.end()) return true;
  const std::chrono::seconds pause =
      kind == HandshakeKind::kReport ? options_.ask_again_after : kWriteSettles;
  return clock_.mono() - asked->second >= pause;
}

void HandshakeWriter::pass() {
  if (!leader_.leads()) return;
  std::vector<std::string> names;
  for (const auto& [name, node] : books_.nodes()) {
    if (!node.fact.handshakes.empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const auto first = std::lower_bound(names.begin(), names.end(), next_);
  std::rotate(names.begin(), first, names.end());
  std::size_t writes = 0;
  for (const std::string& name : names) {
    next_ = name;
    for (const HandshakeFact& handshake : books_.nodes().at(name).fact.handshakes) {
      if (!due(name, handshake)) continue;
      if (writes++ >= options_.writes_per_pass) return;
      write(name, handshake.key);
    }
  }
}

void HandshakeWriter::write(const std::string& node, const std::string& key) {
  asked_[node][key] = clock_.mono();
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  w.key(key).string(vendors::format_requesting(clock_.wall()));
  w.end_object().end_object().end_object();
  // The field manager tells these writes from those of binds in an audit log.
  client::ApiRequest request{
      .method = "PATCH",
      .path = fmt::format("/api/v1/nodes/{}?fieldManager=tessera-handshake", node),
      .body = std::move(w).take(),
      .content_type = "application/merge-patch+json",
      .low_priority = true,
      .still_wanted = [this, term = leader_.term()] { return leader_.holds(term); }};
  api_.send(std::move(request), [node, key](const client::ApiResponse& response) {
    if (!response.ok() && response.status != 404)
      log::warn("handshake could not be written",
                {{"node", node}, {"key", key}, {"problem", response.message()}});
  });
}

void HandshakeWriter::forget(const std::string& node) { asked_.erase(node); }

}  // namespace tessera::service
