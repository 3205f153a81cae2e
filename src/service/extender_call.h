/// A filter or prioritize call while it is under way: how it is read, and what it names. Source:
/// spec/extender-protocol.md sections 2, 3.1. Thread rule: a call has one owner at a time; the pool
/// may be asked from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/move_function.h"
#include "base/result.h"
#include "core/cluster.h"
#include "core/place.h"
#include "http/server.h"
#include "json/reader.h"
#include "k8s/extender.h"
#include "service/facts.h"
#include "service/measures.h"
#include "service/quota_view.h"
#include "service/reject_groups.h"

namespace tessera::service {

/// One call under way. The views in args point into parser and body.
struct FilterCall {
  std::shared_ptr<const FactReader> reader;  ///< that read args and request
  json::Parser parser;
  std::string body;
  k8s::ExtenderArgs args;
  std::vector<core::NodeSpec> specs;  ///< of args.nodes, for simulations
  core::Request request;
  MonoTime arrived{};
  PhaseClock phases;
  MoveFunction<void(http::Response)> answer;
  std::shared_ptr<std::atomic<bool>> client_gone;
  k8s::FilterResult result;  ///< while it is put together
  RejectGroups rejects;      ///< whose texts are in it
  std::string text;          ///< the answer is written here

  void answer_with(std::string json) { answer({.body = std::move(json)}); }
  /// Answers with `text`, in the memory of the body when it has room there: so that goes back to
  /// where it came from. Nothing that points into the body is good afterwards.
  void send_text();
  /// The same without touching the body: what points into it stays good.
  void send_text_beside_body();
  /// True: the body holds so much of the result that this is sent from there.
  bool result_stays_in_body() const;
  /// Answers with `result`; nothing that points into the body is good afterwards.
  void send_from_body();
};

/// Calls are used again, with all the memory that they have grown to.
class FilterCallPool {
 public:
  struct GiveBack {
    FilterCallPool* pool = nullptr;
    void operator()(FilterCall* call) const { pool->give_back(std::unique_ptr<FilterCall>(call)); }
  };
  using Handle = std::unique_ptr<FilterCall, GiveBack>;  ///< must not outlive the pool
  Handle take();

 private:
  void give_back(std::unique_ptr<FilterCall> call);

  std::mutex mutex_;
  std::vector<std::unique_ptr<FilterCall>> free_;
};

/// What whole nodes in the body stand for.
enum class NodesForm : std::uint8_t {
  kSimulate,  ///< machines as they are described there: call.specs says what they offer
  kLive,      ///< the nodes of the cluster with these names
};

/// Reads the body into args and request, with the vendor table of the moment; args.names are the
/// candidates, in whichever form they came. Of whole nodes names and texts are kept, no more. The
/// error names field and value.
Status read_call(FilterCall& call, const LiveReader& live, std::string body, NodesForm form);

/// The full nodes of the call as received, empty, and nothing of the live state but what the
/// namespace's quotas leave: what an autoscaler asks about machines that do not exist yet. Takes
/// call.specs.
core::Outcome place_simulated(FilterCall& call, const QuotaView* quotas,
                              const core::PlaceOptions& options = {});

}  // namespace tessera::service
