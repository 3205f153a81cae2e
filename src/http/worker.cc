#include "http/worker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "http/message.h"
#include "obs/log.h"

namespace tessera::http {

bool Census::enter() {
  const std::lock_guard lock(mutex_);
  if (count_ >= most_) return false;
  ++count_;
  return true;
}

void Census::leave() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) empty_.notify_all();
}

bool Census::wait_empty(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, limit, [this] { return count_ == 0; });
}

Worker::Worker(const Router& router, const ConnectionLimits& limits,
               const CertificateStore* certificates, Census& census)
    : router_(router),
      limits_(limits),
      certificates_(certificates),
      census_(census),
      loop_(std::make_shared<Loop>()) {}

Worker::~Worker() { join(); }

Status Worker::open(const Address& address, bool shared_port) {
  auto listener = Listener::open(loop_, address, shared_port);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

void Worker::start() {
  // One timer for all connections: deadlines are coarse, requests pay nothing for them.
  const auto shortest = std::min({limits_.idle, limits_.request, limits_.handshake});
  const auto period = std::clamp<std::chrono::milliseconds>(
      shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
  loop_->every(period, [this] { check_deadlines(); });
  loop_->post([this] {
    listener_->accept(certificates_, [this](auto transport) { admit(std::move(transport)); });
  });
  thread_ = std::thread([this] { loop_->run(); });
}

void Worker::admit(std::unique_ptr<Transport> transport) {
  if (!census_.enter()) {
    if (!make_room() || !census_.enter()) {
      log::warn("connection refused, there are too many");
      transport->close();
      return;
    }
  }
  const auto connection = std::make_shared<Connection>(
      loop_, std::move(transport), router_, limits_, static_cast<ConnectionHost&>(*this));
  connections_.insert(connection);
  connection->start();
}

/// Rather than refusing a client that has something to say, drops the one that has been silent for
/// longest.
bool Worker::make_room() {
  std::shared_ptr<Connection> longest;
  for (const auto& connection : connections_) {
    if (!connection->idle()) continue;
    if (!longest || connection->deadline() < longest->deadline()) longest = connection;
  }
  if (!longest) return false;
  longest->cut();
  return true;
}

void Worker::forget(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) > 0) census_.leave();
}

std::string_view Worker::date() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (now != date_time_) {
    date_time_ = now;
    date_ = http_date(now);
  }
  return date_;
}

void Worker::check_deadlines() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Connection>> due;
  for (const auto& connection : connections_) {
    if (connection->deadline() <= now) due.push_back(connection);
  }
  for (const auto& connection : due) connection->check_deadline(now);
}

void Worker::begin_drain() {
  listener_->close();
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->drain();
}

void Worker::cut_all() {
  listener_->close();
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->cut();
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace tessera::http
