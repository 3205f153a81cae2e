#include "service/server.h"

#include <chrono>
#include <thread>
#include <utility>

#include "http/server.h"
#include "obs/log.h"
#include "service/routes.h"
#include "service/scheduler.h"

namespace tessera::service {
namespace {

constexpr std::chrono::milliseconds kAnswersMayFinish{1000};

}  // namespace

struct Server::Impl {
  Impl(const ServeOptions& options, ServePlan plan, const client::Credentials& credentials,
       const Clock& clock)
      : scheduler(options, std::move(plan), credentials, clock) {}

  Scheduler scheduler;
  std::unique_ptr<http::Server> http, metrics;
  bool stopped = false;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(const ServeOptions& options,
                                              const client::Credentials& credentials,
                                              const Clock& clock) {
  Result<ServePlan> plan = check_options(options);
  if (!plan) return tl::unexpected(plan.error());
  auto impl = std::make_unique<Impl>(options, std::move(*plan), credentials, clock);
  http::ServerOptions main{.address = options.http_bind,
                           .threads = options.http_threads,
                           .cert_file = options.cert_file,
                           .key_file = options.key_file,
                           .tls_client_ca_file = options.extender_client_ca,
                           .tls_client_required = false,
                           .cert_poll = options.cert_poll};
  auto listening = http::Server::start(std::move(main), main_routes(impl->scheduler));
  if (!listening) return fail(listening.error().code, "--http_bind: " + listening.error().what);
  impl->http = std::move(*listening);
  if (!options.metrics_bind.empty() && options.metrics_bind != "0") {
    listening =
        http::Server::start({.address = options.metrics_bind}, metrics_routes(impl->scheduler));
    if (!listening)
      return fail(listening.error().code, "--metrics-bind-address: " + listening.error().what);
    impl->metrics = std::move(*listening);
  }
  impl->scheduler.start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->http->port(); }

std::uint16_t Server::metrics_port() const {
  return impl_->metrics == nullptr ? std::uint16_t{0} : impl_->metrics->port();
}

bool Server::ready() const { return !impl_->stopped && impl_->scheduler.caches->filled(); }

bool Server::wait_ready(std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ready()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Server::stop() {
  if (impl_->stopped) return;
  impl_->stopped = true;
  impl_->scheduler.refuse_new_work();
  impl_->http->stop(kAnswersMayFinish);
  if (impl_->metrics != nullptr) impl_->metrics->stop();
  impl_->scheduler.stop();
}

Status Server::reload_certificate() {
  const Status tokens = impl_->scheduler.callers.reload();
  const Status certificate = impl_->http->reload_certificate();
  return certificate ? tokens : certificate;
}

void Server::reload_device_config() {
  if (impl_->scheduler.reload != nullptr) impl_->scheduler.reload->look();
}

std::string Server::self_check() { return impl_->scheduler.self_check(); }

}  // namespace tessera::service
