/// The cluster of the scenarios about start-up and memory: objects of real size on the embedded API
/// server, which lives in a child process of its own, so that neither its memory nor its processor
/// time is taken for the measured program's. Started by fork: no thread of the caller may hold a
/// lock then. Thread rule: one owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::bench {

struct LargeClusterOptions {
  std::int64_t nodes = 5000, device_pods = 20'000, plain_pods = 130'000;
  std::int64_t namespaces = 40, quotas = 8;
};

class LargeCluster {
 public:
  /// Returns once every object is there.
  static Result<std::unique_ptr<LargeCluster>> start(const LargeClusterOptions& options);
  ~LargeCluster();  ///< ends the child
  LargeCluster(const LargeCluster&) = delete;
  LargeCluster& operator=(const LargeCluster&) = delete;

  const std::string& kubeconfig() const { return kubeconfig_; }
  const std::string& url() const { return url_; }
  pid_t id() const { return id_; }

  /// So many changes, as fast as the API server makes them while its watches keep up: pods with and
  /// without devices come, change and go, nodes report. The number of pods stays the same. Returns
  /// the nodes' last version, which the follower has seen when it is done.
  Status churn(std::int64_t events);

 private:
  LargeCluster(pid_t id, int to, int from) : id_(id), to_(to), from_(from) {}
  Result<std::string> ask(std::string_view line);
  Result<std::string> read_line();

  pid_t id_;
  int to_, from_;
  std::string received_, kubeconfig_, url_;
};

}  // namespace tessera::bench
