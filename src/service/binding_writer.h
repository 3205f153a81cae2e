/// Creates the Binding that carries the pod's annotations in the same write, and finds out what
/// happened when the answer does not say. Source: spec/node-agent-protocol.md section 5, decisions
/// D21. Thread rule: owned by the state thread; answers come back to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "client/api.h"
#include "core/allocation.h"
#include "service/facts.h"
#include "service/leader.h"
#include "service/lock_writer.h"
#include "service/task_thread.h"

namespace tessera::service {

struct BindingOrder {
  std::string ns, name, uid, node;
  const core::Allocation* allocation = nullptr;  ///< nullptr: no device annotations
  std::vector<std::string> carried_keys;         ///< to be emptied where not written anew
  WallTime decided_at{};
  std::uint64_t term = 0;  ///< of leadership; nothing is sent once it has ended
};

enum class BindingOutcome : std::uint8_t {
  kBound,
  kRefused,  ///< the pod is not bound to the node by this call
  kUnknown,  ///< the API server cannot be asked: the watch will tell
};

class BindingWriter {
 public:
  using Done = std::function<void(BindingOutcome, std::string problem)>;

  BindingWriter(client::ApiClient& api, TaskThread& state, LockWriter& locks,
                const LiveReader& live, const Leadership& leader, const Clock& clock,
                bool write_label_by_patch);

  void write(const BindingOrder& order, Done done);
  /// The body of the Binding, for tests too.
  std::string body(const BindingOrder& order) const;

 private:
  struct Job;
  void answered(const std::shared_ptr<Job>& job, const client::ApiResponse& response);
  void verify(std::shared_ptr<Job> job, std::string problem, int tries_left);
  void bound(const std::shared_ptr<Job>& job);

  client::ApiClient& api_;
  TaskThread& state_;
  LockWriter& locks_;
  const LiveReader& live_;
  const Leadership& leader_;
  const Clock& clock_;
  bool write_label_by_patch_;
};

/// A node name can be too long for a label (S-32): then the label is left out.
bool is_label_value(std::string_view text);

}  // namespace tessera::service
