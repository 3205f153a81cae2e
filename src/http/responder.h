/// The state behind the copies of one Responder.
#pragma once

#include <atomic>
#include <memory>

#include "http/server.h"

namespace tessera::http {

class Connection;
class Loop;

struct Responder::State {
  State(std::shared_ptr<Loop> on, std::weak_ptr<Connection> to)
      : loop(std::move(on)), connection(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// True for the first caller only.
  bool claim() { return !answered.exchange(true); }
  void send(Response response);

  const std::shared_ptr<Loop> loop;
  const std::weak_ptr<Connection> connection;
  std::atomic<bool> answered{false};
};

}  // namespace tessera::http
