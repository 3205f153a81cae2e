/// Marks which replica leads: the Service points at pods with the label of the leader. Source:
/// spec/scheduler.md section 14.4. Thread rule: owned by the state thread.
#pragma once

#include <string>

#include "client/api.h"
#include "json/reader.h"
#include "service/leader.h"

namespace tessera::service {

class RoleLabels {
 public:
  struct Options {
    std::string pod_name;       ///< our own pod; "" = not in a cluster, nothing is labelled
    std::string pod_namespace;  ///< "" = every namespace is searched
  };
  RoleLabels(client::ApiClient& api, const Leadership& leader, Options options);

  /// Our pod becomes `leader`, every other scheduler pod `follower`; only differences are written,
  /// and only by the leader. Failures are logged, the next pass tries again.
  void announce();

 private:
  void label(json::Value pod, std::uint64_t term);

  client::ApiClient& api_;
  const Leadership& leader_;
  Options options_;
};

}  // namespace tessera::service
