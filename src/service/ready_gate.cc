#include "service/ready_gate.h"

#include <algorithm>
#include <utility>

namespace tessera::service {

ReadyGate::ReadyGate(TaskThread& state, std::function<Obstacle()> obstacle)
    : state_(state), obstacle_(std::move(obstacle)) {}

void ReadyGate::pass(Visitor visitor) {
  if (!shut_.empty()) return visitor.turn_away(shut_);
  if (open_) return visitor.enter();
  auto waiting = std::make_shared<Waiting>(
      Waiting{.visitor = std::move(visitor), .arrived = std::chrono::steady_clock::now()});
  waiting_.push_back(waiting);
  look_again(waiting);
}

void ReadyGate::look_again(const std::shared_ptr<Waiting>& waiting) {
  const auto found = std::find(waiting_.begin(), waiting_.end(), waiting);
  if (found == waiting_.end()) return;
  const Obstacle obstacle = obstacle_();
  const Instant end = waiting->arrived + obstacle.longest_wait;
  const Instant now = std::chrono::steady_clock::now();
  if (now >= end) {
    waiting_.erase(found);
    return waiting->visitor.turn_away(obstacle.why);
  }
  state_.after(std::chrono::ceil<std::chrono::milliseconds>(end - now),
               [this, waiting] { look_again(waiting); });
}

void ReadyGate::open() {
  if (!shut_.empty()) return;
  open_ = true;
  for (const auto& waiting : std::exchange(waiting_, {})) {
    const auto& gone = waiting->visitor.client_gone;
    if (gone != nullptr && gone->load())
      waiting->visitor.turn_away("context cancelled");
    else
      waiting->visitor.enter();
  }
}

void ReadyGate::close() { open_ = false; }

void ReadyGate::reconsider() {
  const auto waiting = waiting_;
  for (const auto& one : waiting) look_again(one);
}

void ReadyGate::shut(const std::string& why) {
  shut_ = why;
  for (const auto& waiting : std::exchange(waiting_, {})) waiting->visitor.turn_away(why);
}

}  // namespace tessera::service
