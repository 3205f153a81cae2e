/// Binds a pod to the node of the request: one Binding, and where its answer leaves that open, a
/// look at the pod. Source: spec/label-priority-extender.md section 6, spec/extender-protocol.md
/// section 5.4. Thread rule: any thread; answers come on the client's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "client/api.h"
#include "k8s/extender.h"
#include "label_priority/kube_access.h"
#include "obs/metrics.h"

namespace tessera::label_priority {

struct BindOptions {
  bool enabled = true;
  bool verify = true;  ///< false: the first answer counts, as in the original
  std::chrono::milliseconds timeout{4000};
};

class Binder {
 public:
  using Done = std::function<void(const std::string& error)>;
  Binder(KubeAccess& kube, BindOptions options, obs::Metrics& metrics);

  void bind(const k8s::BindArgs& args, Done done) const;

 private:
  struct Job;
  void answered(const std::shared_ptr<Job>& job, const client::ApiResponse& response) const;
  void ask_pod(const std::shared_ptr<Job>& job) const;
  void pod_told(const std::shared_ptr<Job>& job, client::ApiResponse response) const;
  void end(const Job& job, const std::string& error) const;
  void refuse(const k8s::BindArgs& args, const std::string& error, const Done& done) const;

  KubeAccess& kube_;
  const BindOptions options_;
  const obs::Counter bound_, failed_;
};

}  // namespace tessera::label_priority
