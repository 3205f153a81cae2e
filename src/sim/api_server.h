/// An API server inside the program, for the demo and the integration tests; never in production.
/// Pods (with binding, status), nodes, events, namespaces, resourcequotas, leases, discovery,
/// /version, /healthz; resourceVersion, optimistic locking, paged lists, watches with bookmarks,
/// merge, strategic-merge and JSON patches, field and label selectors, Table output. A real kubectl
/// works on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::sim {

/// Applies to requests over HTTP whose "VERB path?query" contains `match` (e.g. "PATCH
/// /api/v1/nodes/", "watch=true"), `times` times
/// (-1 = until cleared). The first fault that matches acts.
struct Fault {
  std::string match;
  int times = 1;
  int status = 0;  ///< 409, 410, 429, 500: answered instead; 0 = only delay / cut
  std::chrono::milliseconds delay{0};
  std::chrono::milliseconds retry_after{0};  ///< with 429
  bool drop_after_effect = false;  ///< the write happens, the connection is cut without an answer
  bool cut = false;                ///< the connection is cut before anything happens
};

class ApiServer {
 public:
  struct Options {
    std::string address = "127.0.0.1:0";
    std::chrono::milliseconds bookmark_interval{1000};
    std::size_t history = 10'000;  ///< events kept for resuming watches; older = 410
    std::string token;             ///< non-empty: required as bearer token
    /// Told of each request over HTTP before it acts, "VERB path?query"; I/O threads, must not
    /// block.
    std::function<void(std::string_view user_agent, std::string_view line, std::string_view body)>
        on_request = {};
  };
  static Result<std::unique_ptr<ApiServer>> start(Options options, const Clock& clock);
  ~ApiServer();
  std::string url() const;
  std::string kubeconfig() const;  ///< YAML text
  void inject(Fault fault);
  void clear_faults();
  void drop_watches();               ///< cuts every watch connection
  void stall_watches(bool stalled);  ///< keeps them open but silent
  void forget_history();             ///< resumed watches get 410
  /// Pods created over HTTP are first shown to this mutating webhook, failurePolicy Ignore:
  /// "http://127.0.0.1:8080/webhook"; "" = none.
  void set_webhook(const std::string& url);

  /// In-process access, same effects as over HTTP but without faults, token and counts; no watches.
  /// `path` as in the API, e.g. "/api/v1/namespaces/default/pods".
  struct Answer {
    int status = 0;
    std::string body;
  };
  Answer request(std::string_view method, std::string_view path, std::string_view body = {},
                 std::string_view content_type = "application/json");

  /// "user-agent prefix|VERB resource" -> count, e.g. "tessera|PATCH nodes", "tessera|POST
  /// pods/binding"; lists and watches count as "tessera|LIST pods", "tessera|WATCH pods". The
  /// prefix ends before the first '/' or blank.
  std::map<std::string, std::uint64_t> request_counts() const;

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::sim
