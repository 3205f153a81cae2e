/// The prioritize verb: how much this scheduler likes each node, for a kube-scheduler that picks
/// among several. The answer is a bare array and knows no error: what cannot be answered is [].
/// Decoding and simulation run on the thread that received the call, the rest on the state thread.
/// Source: spec/extender-protocol.md sections 3.3, 5.3, decisions D6, D12.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "service/extender_call.h"
#include "service/measures.h"
#include "service/placer.h"
#include "service/quota_view.h"

namespace tessera::service {

class Prioritizer {
 public:
  struct Options {
    NodesForm nodes = NodesForm::kSimulate;
    const QuotaView* quotas = nullptr;  ///< what simulations count; null = nothing
  };
  Prioritizer(const LiveReader& live, Placer& placer, const Measures& measures, const Clock& clock,
              Options options);

  /// Any thread. Decodes; true: the call needs decide() on the state thread. False: `call.answer`
  /// was called.
  bool prepare(FilterCall& call, std::string body);
  /// State thread.
  void decide(FilterCall& call);
  /// Any thread: no score for anyone. `code` is what the measures say of it.
  void refuse(FilterCall& call, std::string_view why, int code);

 private:
  bool answer_at_once(FilterCall& call);
  void send(FilterCall& call, const std::vector<std::string_view>& names,
            const std::vector<std::int64_t>& scores);
  double time_taken(const FilterCall& call) const;  ///< seconds since it arrived

  const LiveReader& live_;
  Placer& placer_;
  const Measures& measures_;
  const Clock& clock_;
  Options options_;
};

}  // namespace tessera::service
