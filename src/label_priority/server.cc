#include "label_priority/server.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "http/server.h"
#include "label_priority/routes.h"
#include "policies/label_priority.h"

namespace tessera::label_priority {
namespace {

constexpr std::chrono::milliseconds kAnswersMayFinish{5000};

Status check_compat(const Options& options) {
  if (!options.rules.compat) return {};
  const auto clash = [](std::string_view flag) {
    return fail(Code::kInvalid,
                fmt::format("{} with --compat: the original extender has no such rule", flag));
  };
  if (!options.rules.label_required) return clash("--label-required=false");
  if (options.scores != "raw") return clash("--scores=" + options.scores);
  return {};
}

Status check_limits(const Options& options) {
  const auto positive = [](std::string_view flag, std::int64_t value) -> Status {
    if (value > 0) return {};
    return fail(Code::kInvalid, fmt::format("{}: {} is not above 0", flag, value));
  };
  for (const auto& [flag, value] :
       {std::pair<std::string_view, std::int64_t>{"--weight", options.rules.weight},
        {"--http-threads", options.http_threads},
        {"--bind-timeout", options.bind_timeout.count()},
        {"--request-timeout", options.request_timeout.count()}}) {
    if (Status s = positive(flag, value); !s) return s;
  }
  if (options.kube_qps > 0 && options.kube_burst < 1)
    return fail(Code::kInvalid,
                fmt::format("--kube-burst: {} leaves no room for a request", options.kube_burst));
  return {};
}

}  // namespace

Status check_options(const Options& options) {
  if (const Status key = policies::check_label_key(options.rules.label); !key)
    return fail(Code::kInvalid, "--label: " + key.error().what);
  if (options.scores != "raw" && options.scores != "normalised")
    return fail(Code::kInvalid, fmt::format("--scores: {} is none of: raw, normalised",
                                            text::quote(options.scores)));
  if (options.cert_file.empty() != options.key_file.empty())
    return fail(Code::kInvalid, options.cert_file.empty()
                                    ? "--key_file is given without --cert_file"
                                    : "--cert_file is given without --key_file");
  if (Status s = check_compat(options); !s) return s;
  return check_limits(options);
}

struct Server::Impl {
  Impl(const Options& options, KubeAccess::Find find, const Clock& clock)
      : extender(options, std::move(find), clock) {}
  Extender extender;
  std::unique_ptr<http::Server> http, metrics;
  bool stopped = false;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(Options options, KubeAccess::Find find,
                                              const Clock& clock) {
  if (const Status checked = check_options(options); !checked)
    return tl::unexpected(checked.error());
  options.rules.normalised = options.scores == "normalised";
  auto impl = std::make_unique<Impl>(options, std::move(find), clock);
  auto listening = http::Server::start({.address = options.listen,
                                        .threads = options.http_threads,
                                        .cert_file = options.cert_file,
                                        .key_file = options.key_file,
                                        .cert_poll = options.cert_poll,
                                        .request_timeout = options.request_timeout,
                                        .max_connections = options.max_connections},
                                       main_routes(impl->extender));
  if (!listening) return fail(listening.error().code, "--listen: " + listening.error().what);
  impl->http = std::move(*listening);
  if (!options.metrics_bind.empty()) {
    listening =
        http::Server::start({.address = options.metrics_bind}, probe_routes(impl->extender));
    if (!listening)
      return fail(listening.error().code, "--metrics-bind-address: " + listening.error().what);
    impl->metrics = std::move(*listening);
  }
  impl->extender.start_cache();  // without credentials: when somebody needs it
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->http->port(); }

std::uint16_t Server::metrics_port() const {
  return impl_->metrics == nullptr ? std::uint16_t{0} : impl_->metrics->port();
}

Status Server::reload_certificate() { return impl_->http->reload_certificate(); }

void Server::stop() {
  if (impl_->stopped) return;
  impl_->stopped = true;
  impl_->extender.cache.stop();
  impl_->http->stop(kAnswersMayFinish);
  if (impl_->metrics != nullptr) impl_->metrics->stop();
  impl_->extender.kube.close();
}

}  // namespace tessera::label_priority
