/// Internal to scenario_live: the calls that a scenario makes against an API server and an
/// extender, blocking.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/api.h"
#include "json/reader.h"
#include "obs/metrics.h"
#include "sim/scenario_verdict.h"

namespace tessera::sim {

/// Two clients; errors come back as text that names the call.
class LiveCluster {
 public:
  LiveCluster(const std::string& api_url, const std::string& extender_url);

  /// Another server answers from now on.
  void use_extender(const std::string& extender_url);

  /// Creates the object; the answer is the object as stored.
  Result<std::string> create(const std::string& collection, const std::string& object);
  Status merge(const std::string& path, const std::string& patch);
  Status remove(const std::string& path);
  Result<std::string> get(const std::string& path);

  /// POST /filter with names; reasons come back by node.
  Result<Verdict> filter(const std::string& pod_object, const std::vector<std::string>& nodes);
  Status bind(const std::string& pod, const std::string& uid, const std::string& node);

 private:
  obs::Metrics metrics_;
  client::ApiClient api_;
  std::unique_ptr<client::ApiClient> extender_;
};

}  // namespace tessera::sim
