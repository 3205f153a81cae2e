/// Bound pods whose node agent never answers: bind-phase stays `allocating` beyond the lock
/// timeout. The agent is gone then; the lock keeper releases its lock by age, here the pod's owner
/// is told. The devices stay charged while the pod is bound. Source: decisions D11, rule 4 of
/// spec/node-agent-protocol.md section 12. Thread rule: owned by the state thread.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "service/books.h"
#include "service/events.h"
#include "service/facts.h"
#include "service/leader.h"
#include "service/measures.h"

namespace tessera::service {

class AllocationWatch {
 public:
  AllocationWatch(const Books& books, const LiveReader& live, Events& events,
                  const Measures& measures, const Leadership& leader, const Clock& clock,
                  std::chrono::milliseconds timeout);

  /// After news of a pod, also when it is gone.
  void pod_changed(const PodRecord& pod);
  /// Tells of those that are overdue, each once.
  void tick();
  std::size_t waiting() const { return allocating_.size(); }

 private:
  struct Waiting {
    MonoTime seen{};  ///< first
    bool told = false;
  };
  bool agent_answers(const std::string& uid) const;
  bool overdue(const PodRecord& pod, const Waiting& waiting) const;
  void tell(const PodRecord& pod);

  const Books& books_;
  const LiveReader& live_;
  Events& events_;
  const Measures& measures_;
  const Leadership& leader_;
  const Clock& clock_;
  std::chrono::milliseconds timeout_;
  std::unordered_map<std::string, Waiting> allocating_;  // by uid
};

}  // namespace tessera::service
