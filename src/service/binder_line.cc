// How many binds write at once, and who goes on when one has ended. A bind that has begun cannot be
// taken back; one that stands in line can: its client may hang up, its time may pass,
// kube-scheduler may choose another node, and it has cost the API server nothing.
#include <fmt/format.h>

#include <utility>

#include "service/binder.h"

namespace tessera::service {

/// Nobody overtakes the line.
bool Binder::take_place(const JobPtr& job) {
  if (places_taken_ >= options_.most_active || (!serving_line_ && !line_.empty())) return false;
  ++places_taken_;
  job->has_place = true;
  return true;
}

/// The next one begins after whoever has ended is put in order.
void Binder::give_place_back(const JobPtr& job) {
  if (!job->has_place) return;
  job->has_place = false;
  --places_taken_;
  if (!line_.empty()) p_.state.post([this] { next_in_line(); });
}

void Binder::next_in_line() {
  serving_line_ = true;
  while (!line_.empty() && places_taken_ < options_.most_active) {
    const Turn turn = std::move(line_.front());
    line_.pop_front();
    if (turn.plain != nullptr) {
      go_on_plain(turn.plain);
      continue;
    }
    if (const auto found = queues_.find(turn.node); found != queues_.end())
      found->second.in_line = false;
    pump(turn.node);
  }
  serving_line_ = false;
}

/// A bind that needs no lock.
void Binder::start_plain(const JobPtr& job) {
  if (!take_place(job)) {
    set_stage(*job, BindStage::kQueued);
    p_.books.extend_reservation(job->args.pod_uid, options_.retry_timeout);
    line_.push_back({.node = {}, .plain = job});
    return;
  }
  job->active = true;
  set_stage(*job, BindStage::kActive);
  write_binding(job);
}

void Binder::go_on_plain(const JobPtr& job) {
  if (job->done) return;
  if (clients_gone(*job)) return drop(job);
  const bool known = p_.books.pod(job->args.pod_uid) != nullptr;
  if (known ? recheck(job) : !deposed(job)) start_plain(job);
}

/// Once a second: those in line whose clients have gone, or whose time is over.
void Binder::tend_line() {
  const std::deque<Turn> line = line_;
  for (const Turn& turn : line) {
    if (!turn.waits_plainly()) continue;
    if (clients_gone(*turn.plain)) {
      drop(turn.plain);
    } else if (p_.clock.mono() >= turn.plain->deadline) {
      time_out(turn.plain);
    }
  }
  std::erase_if(line_, [](const Turn& turn) { return turn.plain != nullptr && turn.plain->done; });
}

}  // namespace tessera::service
