/// The cluster of the scenarios about start-up and memory: objects of real size on the embedded API
/// server, which lives in a child process of its own, so that neither its memory nor its processor
/// time is taken for the measured program's. Started by fork: no thread of the caller may hold a
/// lock then. Thread rule: one owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

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
  pid_t id() const { return id_; }

  /// So many changes, one after the other, as fast as the API server makes them: pods with and
  /// without devices come, change and go, nodes report. How many pods there are and what each
  /// node's pods hold is the same afterwards.
  Status churn(std::int64_t events);
  /// How often the watches of the server under test were begun: more than one of each resource
  /// means that it did not keep up.
  Result<std::int64_t> watches();

 private:
  LargeCluster(pid_t id, int socket) : id_(id), socket_(socket) {}
  Result<std::string> ask(const std::string& line);
  Result<std::string> reply();

  const pid_t id_;
  const int socket_;
  std::string received_, kubeconfig_;
};

}  // namespace tessera::bench
