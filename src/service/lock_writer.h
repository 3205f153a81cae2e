/// Writes and removes node locks: merge patches guarded by resourceVersion, so that nobody's lock
/// is overwritten unseen. Every answer of the API server is taken over into the books. Source:
/// spec/node-agent-protocol.md section 6. Thread rule: owned by the state thread; answers come back
/// to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/api.h"
#include "service/books.h"
#include "service/facts.h"
#include "service/leader.h"
#include "service/task_thread.h"

namespace tessera::service {

class LockWriter {
 public:
  using Done = std::function<void(Status)>;

  LockWriter(client::ApiClient& api, TaskThread& state, const LiveReader& live, Books& books,
             const Leadership& leader);

  /// Nothing is sent once `term` has ended: kUnavailable then, in both.
  /// Writes `value` where the books show `replaces` (nothing, or a stale lock). kConflict: somebody
  /// else has it now; kNotFound: no such node; kUnavailable: the API server did not take it.
  void set(const std::string& node, const std::string& value, std::optional<std::string> replaces,
           std::uint64_t term, Done done);
  /// Removes the lock as long as it reads `value`; somebody else's stays, which is success too.
  void clear(const std::string& node, const std::string& value, std::uint64_t term, Done done);
  /// Asks the API server for a pod: nullopt = it does not exist.
  void fetch_pod(const std::string& ns, const std::string& name,
                 std::function<void(Result<std::optional<PodFact>>)> done);

 private:
  struct Job;
  void patch(std::shared_ptr<Job> job);
  void patched(const std::shared_ptr<Job>& job, const client::ApiResponse& response);
  void look(std::shared_ptr<Job> job, std::string problem);
  void retry(std::shared_ptr<Job> job, const std::string& problem);
  /// True when the books already answer the job.
  bool settled(const Job& job) const;
  Result<NodeFact> read(const std::string& body) const;

  client::ApiClient& api_;
  TaskThread& state_;
  const LiveReader& live_;
  Books& books_;
  const Leadership& leader_;
};

}  // namespace tessera::service
