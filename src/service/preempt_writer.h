/// What a preemption writes: evictions, the note on the preemptor, its nominated node. Nothing is
/// sent once the term it belongs to has ended. Source: decisions D13. Thread rule: owned by the
/// state thread; answers come back to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/api.h"
#include "service/leader.h"
#include "service/preempt_note.h"
#include "service/task_thread.h"

namespace tessera::service {

enum class Eviction : std::uint8_t {
  kAccepted,
  kGone,       ///< no such pod (any more)
  kRefused,    ///< a PodDisruptionBudget stands in the way
  kForbidden,  ///< we lack the right
  kFailed,     ///< the API server did not take it; perhaps later
};

struct PodName {
  std::string ns, name, uid;
};

class PreemptWriter {
 public:
  PreemptWriter(client::ApiClient& api, TaskThread& state, const Leadership& leader)
      : api_(api), state_(state), leader_(leader) {}

  using Evicted = std::function<void(Eviction, const std::string& problem)>;
  /// Names the UID: a pod of the same name that was made anew is left alone.
  void evict(const PreemptionNote::Victim& victim, bool dry_run, std::uint64_t term, Evicted done);
  /// nullopt: takes the note away.
  void note(const PodName& pod, std::optional<std::string> text, std::uint64_t term,
            std::function<void(const Status&)> done);
  /// Best effort: the pod goes its way without it.
  void nominate(const PodName& pod, const std::string& node, std::uint64_t term);

 private:
  client::ApiClient& api_;
  TaskThread& state_;
  const Leadership& leader_;
};

/// What the answer to an eviction means.
Eviction read_eviction_answer(const client::ApiResponse& response);

}  // namespace tessera::service
