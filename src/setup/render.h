/// Writes the configuration of the kube-scheduler that works with our server. Pure: options in,
/// text out.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "setup/config_form.h"
#include "setup/offer.h"

namespace tessera::setup {

struct RenderOptions {
  int kube_minor = kTestedMinor;
  Offer offer;  ///< program: kServe or kLabelPriority
  std::string url = "http://127.0.0.1:8080";
  std::string ca_file;     ///< checks the certificate of an https URL
  bool insecure = false;   ///< nothing checks it
  bool preempt = false;    ///< with preemptVerb
  std::string kubeconfig;  ///< "" = the service account of the pod
};

/// YAML; JSON of the legacy Policy for versions that have nothing newer. Errors name the option.
Result<std::string> render_scheduler_config(const RenderOptions& options);

/// What the file cannot say and the flags of an old kube-scheduler must, where the form is the
/// Policy; else "".
std::string flags_beside_policy(const RenderOptions& options);

/// httpTimeout that outlasts a bind's wait for its node's lock, in whole seconds.
std::chrono::seconds timeout_for(std::chrono::milliseconds lock_wait);

constexpr int kScoredWeight = 5;  ///< D12

}  // namespace tessera::setup
