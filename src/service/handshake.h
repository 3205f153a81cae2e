/// Handshakes with node agents: who must report before his devices are offered again, and the
/// request for a report that schedulers leave in the annotation. Source:
/// spec/node-agent-protocol.md sections 3 and 12, decisions D9, S-15, S-19, cases 142 and 143.
/// Thread rule: owned by the state thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "client/api.h"
#include "service/books.h"
#include "service/facts.h"
#include "service/leader.h"

namespace tessera::service {

/// Devices are offered while they are allocatable. Whoever has lost them once and reports by
/// handshake must have reported since: kubelet may list them again before the agent is alive. No
/// clocks are compared: a report is fresh when it reads otherwise than at the loss.
class HandshakeHealth {
 public:
  /// Takes offers back in `fact.spec.offered`.
  void judge(NodeFact& fact);
  /// A node that is gone has lost nothing when it comes back.
  void forget(const std::string& node) { nodes_.erase(node); }
  /// Losses that are waited for.
  std::size_t waiting() const;

 private:
  struct Loss {
    std::optional<std::string> text;  ///< of the annotation at the loss
    bool reported = false;
  };
  struct Entry {
    std::string uid;
    std::map<std::string, Loss> losses;  ///< by annotation key
  };
  std::unordered_map<std::string, Entry> nodes_;
};

/// Writes `Requesting_<time>` where an agent has registered and nothing of the kind is there yet.
/// On the client's low-priority lane, a few per pass: no decision waits for it.
class HandshakeWriter {
 public:
  struct Options {
    std::size_t writes_per_pass = 60;
    /// After an agent's report it is asked again no sooner.
    std::chrono::seconds ask_again_after{60};
  };
  HandshakeWriter(client::ApiClient& api, const Books& books, const Leadership& leader,
                  const Clock& clock, Options options);

  /// One round over the nodes; the next one goes on where this one ended.
  void pass();
  void forget(const std::string& node);

 private:
  bool due(const std::string& node, const HandshakeFact& handshake) const;
  void write(const std::string& node, const std::string& key);

  client::ApiClient& api_;
  const Books& books_;
  const Leadership& leader_;
  const Clock& clock_;
  Options options_;
  std::string next_;  ///< node with which the next pass begins
  std::unordered_map<std::string, std::map<std::string, MonoTime>> asked_;  ///< node, key
};

}  // namespace tessera::service
