#include "service/ready_gate.h"

#include <algorithm>
#include <utility>

namespace tessera::service {

ReadyGate::ReadyGate(TaskThread& state, std::chrono::milliseconds longest_wait,
                     std::function<std::string()> missing)
    : state_(state), longest_wait_(longest_wait), missing_(std::move(missing)) {}

void ReadyGate::pass(Visitor visitor) {
  if (!shut_.empty()) return visitor.turn_away(shut_);
  if (open_) return visitor.enter();
  auto waiting = std::make_shared<Visitor>(std::move(visitor));
  waiting_.push_back(waiting);
  state_.after(longest_wait_, [this, waiting] {
    const auto found = std::find(waiting_.begin(), waiting_.end(), waiting);
    if (found == waiting_.end()) return;
    waiting_.erase(found);
    waiting->turn_away("not ready: " + missing_());
  });
}

void ReadyGate::open() {
  open_ = true;
  for (const auto& visitor : std::exchange(waiting_, {})) {
    const bool gone = visitor->client_gone != nullptr && visitor->client_gone->load();
    if (gone)
      visitor->turn_away("context cancelled");
    else
      visitor->enter();
  }
}

void ReadyGate::shut(const std::string& why) {
  shut_ = why;
  for (const auto& visitor : std::exchange(waiting_, {})) visitor->turn_away(why);
}

}  // namespace tessera::service
