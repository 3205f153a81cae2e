#include "http/server.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "http/router.h"
#include "http/tls.h"
#include "http/worker.h"
#include "obs/log.h"

namespace tessera::http {
namespace {

constexpr std::chrono::milliseconds kHandshakeLimit{10'000};

Status check(const ServerOptions& options) {
  if (options.cert_file.empty() != options.key_file.empty()) {
    return fail(Code::kInvalid, options.cert_file.empty()
                                    ? "cert_file is missing while key_file is set"
                                    : "key_file is missing while cert_file is set");
  }
  if (!options.tls_client_ca_file.empty() && options.cert_file.empty()) {
    return fail(Code::kInvalid, "tls_client_ca_file needs cert_file and key_file");
  }
  if (options.threads < 1 || options.threads > 256) {
    return fail(Code::kInvalid,
                "threads: " + std::to_string(options.threads) + " is not within 1 to 256");
  }
  if (options.idle_timeout.count() <= 0 || options.request_timeout.count() <= 0 ||
      options.cert_poll.count() <= 0) {
    return fail(Code::kInvalid, "idle_timeout, request_timeout and cert_poll must be positive");
  }
  return {};
}

ConnectionLimits limits_of(const ServerOptions& options) {
  return {options.idle_timeout, options.request_timeout,
          std::min(kHandshakeLimit, options.request_timeout)};
}

}  // namespace

struct Server::Impl {
  Impl(const ServerOptions& given, std::vector<Route> routes)
      : options(given), router(std::move(routes)), census(given.max_connections) {}

  Status open();
  Status open_worker(const Address& address, bool shared_port);
  void start();

  const ServerOptions options;
  const Router router;
  Census census;
  std::unique_ptr<CertificateStore> certificates;  // null = plain
  std::vector<std::unique_ptr<Worker>> workers;    // after all that they refer to
  std::mutex stop_mutex;
  bool stopped = false;  // guarded by stop_mutex
};

Status Server::Impl::open_worker(const Address& address, bool shared_port) {
  workers.push_back(
      std::make_unique<Worker>(router, limits_of(options), certificates.get(), census));
  auto status = workers.back()->open(address, shared_port);
  if (!status) workers.pop_back();
  return status;
}

Status Server::Impl::open() {
  auto address = parse_address(options.address);
  if (!address) return tl::unexpected(address.error());
  if (!options.cert_file.empty()) {
    auto store = CertificateStore::load({options.cert_file, options.key_file,
                                         options.tls_client_ca_file, options.tls_client_required});
    if (!store) return tl::unexpected(store.error());
    certificates = std::move(*store);
  }
  // The kernel lets any process of the same user join a shared port: first make sure that it is
  // free.
  if (auto status = open_worker(*address, false); !status) return status;
  if (options.threads == 1) return {};
  address->port = std::to_string(workers.front()->port());
  workers.clear();
  for (int i = 0; i < options.threads; ++i) {
    if (auto status = open_worker(*address, true); !status) return status;
  }
  return {};
}

void Server::Impl::start() {
  for (const auto& worker : workers) worker->start();
  if (!certificates) return;
  workers.front()->loop().every(options.cert_poll, [this] { certificates->poll(); });
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, std::vector<Route> routes) {
  if (auto status = check(options); !status) return tl::unexpected(status.error());
  auto impl = std::make_unique<Impl>(options, std::move(routes));
  if (auto status = impl->open(); !status) return tl::unexpected(status.error());
  impl->start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }

std::uint16_t Server::port() const { return impl_->workers.front()->port(); }

void Server::stop(std::chrono::milliseconds grace) {
  const std::lock_guard lock(impl_->stop_mutex);
  if (impl_->stopped) return;
  impl_->stopped = true;
  if (grace.count() > 0) {
    for (const auto& worker : impl_->workers) {
      worker->loop().post([&worker] { worker->begin_drain(); });
    }
    impl_->census.wait_empty(grace);
  }
  for (const auto& worker : impl_->workers) {
    worker->loop().post([&worker] { worker->cut_all(); });
    worker->loop().finish();
  }
  for (const auto& worker : impl_->workers) worker->join();
}

Status Server::reload_certificate() {
  if (!impl_->certificates) return {};
  return impl_->certificates->reload();
}

}  // namespace tessera::http
