/// The preempt verb: kube-scheduler has found victims for what it counts itself; here they are
/// completed so that the devices suffice as well, and nodes where eviction would not help are left
/// out. Source: spec/extender-protocol.md sections 3.5, 5.5, decisions D13. Thread rule: prepare on
/// any thread, decide on the state thread.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "core/request.h"
#include "k8s/extender.h"
#include "obs/metrics.h"
#include "service/books.h"
#include "service/budgets.h"
#include "service/facts.h"

namespace tessera::service {

struct PreemptCall {
  k8s::PreemptArgs args;
  core::Request request;
  std::shared_ptr<const FactReader> reader;  ///< that read the request
  MonoTime arrived{};
};

class PreemptVerb {
 public:
  PreemptVerb(const LiveReader& live, Books& books, const Budgets& budgets, const Clock& clock,
              obs::Metrics& metrics);

  /// The error names the field; the reply type has no place for it, so HTTP's status says it.
  Result<PreemptCall> prepare(const std::string& body) const;
  /// The body of the reply.
  std::string decide(const PreemptCall& call);
  void answered(int status, MonoTime arrived) const;

 private:
  Result<core::Request> demand(const FactReader& reader, const k8s::Pod& pod) const;
  bool complete(const core::Request& request, const k8s::Pod& pod, k8s::VictimsOfNode& victims);

  const LiveReader& live_;
  Books& books_;
  const Budgets& budgets_;
  const Clock& clock_;
  obs::Histogram good_, bad_, refused_;
  obs::Counter kept_, completed_, left_out_;
};

}  // namespace tessera::service
