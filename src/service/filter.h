/// The filter verb: which node, or in scored mode which nodes, and slices reserved in the same
/// step. Decoding and simulation run on the thread that received the call, decisions on the state
/// thread; nothing here talks to the network. Source: spec/scheduler.md sections 2.2, 9, 12,
/// decisions D5, D6, D11.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "core/place.h"
#include "k8s/extender.h"
#include "service/books.h"
#include "service/events.h"
#include "service/extender_call.h"
#include "service/facts.h"
#include "service/measures.h"
#include "service/placer.h"
#include "service/quota_view.h"

namespace tessera::service {

class Filter {
 public:
  struct Options {
    NodesForm nodes = NodesForm::kSimulate;
    bool prefer_unlocked = true;        ///< among equally good nodes
    const QuotaView* quotas = nullptr;  ///< what simulations count; null = nothing
    bool scored = false;                ///< all fitting nodes; kube-scheduler picks (D12)
  };
  Filter(const LiveReader& live, Books& books, Placer& placer, Events& events,
         const Measures& measures, const Clock& clock, Options options);

  /// Any thread. Decodes; true: the call needs decide() on the state thread. False: `call.answer`
  /// was called.
  bool prepare(FilterCall& call, std::string body);
  /// State thread.
  void decide(FilterCall& call);
  /// Any thread.
  void refuse(FilterCall& call, std::string_view error);

  /// State thread, with the pod's UID, after the answer.
  std::function<void(const std::string&uid)> on_placed, on_refused;
  /// After on_refused, with what the decision was made of.
  std::function<void(const k8s::Pod&, const core::Request&, const core::Outcome&,
                     const std::vector<NodeId>& candidates)>
      on_nowhere;

 private:
  void simulate(FilterCall& call);
  void pass_through(FilterCall& call);
  bool answer_known(FilterCall& call);
  void answer_node(FilterCall& call, std::string_view node, bool decided = false);
  void place(FilterCall& call);
  void place_scored(FilterCall& call, const std::vector<std::string_view>& names);
  PodRecord* hold(FilterCall& call, core::Decision& decision);  ///< takes the allocation
  void tell_placed(const k8s::Pod& pod);
  void answer_fitting(FilterCall& call, const core::Outcome& outcome,
                      const std::vector<std::string_view>& names);
  void answer_nowhere(FilterCall& call, const core::Outcome& outcome,
                      const std::vector<std::string_view>& names);
  void fail_placing(FilterCall& call, const std::string& problem);
  void send(FilterCall& call, bool decided = false, bool names_stay = false);
  void phase_ends(FilterCall& call, Phase phase);
  double time_taken(const FilterCall& call) const;  ///< seconds since it arrived

  const LiveReader& live_;
  Books& books_;
  Placer& placer_;
  Events& events_;
  const Measures& measures_;
  const Clock& clock_;
  Options options_;
  PlacedFacts placed_;        // of the last call, for their memory
  std::string vendor_words_;  // the same
};

}  // namespace tessera::service
