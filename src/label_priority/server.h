/// The label-priority extender as a program of its own: everything that `tessera label-priority`
/// is. Full nodes need nothing but the request; names need the node cache; bind needs the API
/// server. Source: spec/label-priority-extender.md, decision D14.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "label_priority/kube_access.h"
#include "label_priority/rule.h"

namespace tessera::label_priority {

struct Options {
  std::string listen = "127.0.0.1:8080";
  std::string metrics_bind;  ///< plain HTTP with /metrics and the probes; "" = none
  std::string cert_file, key_file;
  Rules rules;
  std::string scores = "raw";  ///< or "normalised"
  bool bind = true;
  std::size_t max_body = 128U << 20;
  std::size_t max_connections = 4096;
  std::chrono::milliseconds request_timeout{60'000};  ///< reading one request
  std::chrono::milliseconds bind_timeout{4'000};
  std::chrono::milliseconds cache_wait{4'000};  ///< of calls that come before the nodes are listed
  double kube_qps = 200, kube_burst = 400;
  int http_threads = 1;
  std::chrono::milliseconds cert_poll{10'000};
};
/// Which flag is wrong, and what would be right.
Status check_options(const Options& options);

class Server {
 public:
  /// `find` is asked at once and again whenever the API server is needed; that it finds nothing is
  /// no error here. Errors: bad options, port in use.
  static Result<std::unique_ptr<Server>> start(Options options, KubeAccess::Find find,
                                               const Clock& clock);
  ~Server();
  std::uint16_t port() const;
  std::uint16_t metrics_port() const;  ///< 0 when there is no such listener
  void stop();  ///< refuse new calls, finish those under way for a moment, end
  Status reload_certificate();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::label_priority
