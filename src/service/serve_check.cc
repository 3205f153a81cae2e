#include "service/serve_check.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "policies/registry.h"
#include "service/caller_check.h"
#include "service/names.h"
#include "vendors/config.h"

namespace tessera::service {
namespace {

Status check_selector(const std::string& selector) {
  if (selector.empty()) return {};
  for (const std::string_view pair : text::split(selector, ',')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(
          Code::kInvalid,
          fmt::format("--node-label-selector: {} is not of the form key=value", text::quote(pair)));
    }
  }
  return {};
}

Status check_times(const ServeOptions& options) {
  const auto positive = [](std::string_view flag, std::chrono::milliseconds value) -> Status {
    if (value.count() > 0) return {};
    return fail(Code::kInvalid, fmt::format("{}: {} is not above 0", flag, format_duration(value)));
  };
  if (Status s = positive("--node-lock-timeout", options.node_lock_timeout); !s) return s;
  if (Status s = positive("--reservation-ttl", options.reservation_ttl); !s) return s;
  if (Status s = positive("--preemption-deadline", options.preemption_deadline); !s) return s;
  if (Status s = positive("--tentative-ttl", options.tentative_ttl); !s) return s;
  if (options.self_check_interval.count() < 0)
    return fail(Code::kInvalid, "--self-check-interval: below 0");
  if (options.kube_timeout.count() < 0) return fail(Code::kInvalid, "--kube-timeout: below 0");
  if (options.kube_qps > 0 && options.kube_burst < 1) {
    return fail(Code::kInvalid, fmt::format("--kube-burst: {} leaves no room for a request; with "
                                            "--kube-qps above 0 it must be 1 or more",
                                            options.kube_burst));
  }
  return {};
}

Status check_words(const ServeOptions& options) {
  if (options.nodes_form != "simulate" && options.nodes_form != "live") {
    return fail(Code::kInvalid, fmt::format("--nodes-form: {} is none of: simulate, live",
                                            text::quote(options.nodes_form)));
  }
  if (options.answer != "single" && options.answer != "scored") {
    return fail(Code::kInvalid, fmt::format("--answer: {} is none of: single, scored",
                                            text::quote(options.answer)));
  }
  if (options.score_mode != "corrected" && options.score_mode != "hami") {
    return fail(Code::kInvalid, fmt::format("--score-mode: {} is none of: corrected, hami",
                                            text::quote(options.score_mode)));
  }
  if (options.preemption != "off" && options.preemption != "own") {
    return fail(Code::kInvalid, fmt::format("--preemption: {} is none of: off, own",
                                            text::quote(options.preemption)));
  }
  if (options.preemption_qps > 0 && options.preemption_burst < 1) {
    return fail(Code::kInvalid,
                fmt::format("--preemption-burst: {} leaves no room for a preemption; with "
                            "--preemption-qps above 0 it must be 1 or more",
                            options.preemption_burst));
  }
  if (options.cert_file.empty() != options.key_file.empty()) {
    return fail(Code::kInvalid, options.cert_file.empty()
                                    ? "--key_file is given without --cert_file"
                                    : "--cert_file is given without --key_file");
  }
  if (options.request_classes < 1)
    return fail(Code::kInvalid, "--request-classes: 0 is not above 0");
  if (options.placement_threads < 1 || options.placement_threads > 64)
    return fail(Code::kInvalid, fmt::format("--placement-threads: {} is not within 1 to 64",
                                            options.placement_threads));
  if (options.http_threads < 1)
    return fail(Code::kInvalid,
                fmt::format("--http-threads: {} is not above 0", options.http_threads));
  return {};
}

/// Asking for a certificate takes TLS; a token takes a file that holds one.
Status check_callers(const ServeOptions& options) {
  if (!options.extender_client_ca.empty() && options.cert_file.empty()) {
    return fail(Code::kInvalid,
                "--extender-client-ca is given without --cert_file and --key_file: a client shows "
                "its certificate over TLS only");
  }
  if (options.extender_token_file.empty()) return {};
  const auto tokens = read_tokens(options.extender_token_file);
  if (tokens) return {};
  return fail(tokens.error().code, "--extender-token-file: " + tokens.error().what);
}

/// A Lease that is not named is watched for nothing: the process would never lead.
Status check_leader(const ServeOptions& options) {
  if (!options.leader_elect) return {};
  const auto named = [](std::string_view flag, const std::string& value) -> Status {
    if (is_object_name(value)) return {};
    return fail(Code::kInvalid,
                fmt::format("{}: {} is not a name; with --leader-elect it says which Lease tells "
                            "who leads",
                            flag, text::quote(value)));
  };
  if (Status s = named("--leader-elect-resource-name", options.leader_elect_name); !s) return s;
  if (Status s = named("--leader-elect-resource-namespace", options.leader_elect_namespace); !s)
    return s;
  if (options.leader_elect_host.empty())
    return fail(Code::kInvalid, "--leader-elect-host: empty, and this machine has no name");
  return {};
}

Result<vendors::PolicyDefaults> find_policies(const ServeOptions& options) {
  vendors::PolicyDefaults defaults;
  const auto nodes = policies::parse_node_chain(options.node_policy);
  if (!nodes) return fail(Code::kInvalid, "--node-scheduler-policy: " + nodes.error().what);
  if (options.score_mode == "hami" && (nodes->before != nullptr || nodes->after != nullptr)) {
    return fail(Code::kInvalid,
                fmt::format("--node-scheduler-policy: {} with --score-mode=hami, which knows no "
                            "chains of node policies",
                            text::quote(options.node_policy)));
  }
  defaults.node = nodes->load;
  defaults.node_before = nodes->before;
  defaults.node_after = nodes->after;
  if (const Status key = policies::check_label_key(options.priority_label); !key)
    return fail(Code::kInvalid, "--priority-label: " + key.error().what);
  defaults.priority_label = options.priority_label;
  auto chain = policies::parse_device_chain(options.device_policy);
  if (!chain) return fail(Code::kInvalid, "--gpu-scheduler-policy: " + chain.error().what);
  if (chain->empty()) {
    return fail(Code::kInvalid, fmt::format("--gpu-scheduler-policy: empty; valid: {}",
                                            text::join(policies::device_policy_names(), ", ")));
  }
  defaults.devices = std::move(*chain);
  defaults.words = {.device = options.device_policy, .node = options.node_policy};
  if (options.score_mode == "hami") defaults.mode = core::ScoreMode::kHami;
  return defaults;
}

}  // namespace

Result<vendors::Vendors> make_vendors(const std::string& yaml, vendors::VendorSwitches switches) {
  vendors::ConfigResult config = vendors::parse_device_config(
      yaml.empty() ? vendors::default_device_config() : std::string_view(yaml), switches);
  if (config.faults.empty()) return vendors::Vendors::make(std::move(config.config));
  std::vector<std::string> lines;
  for (const vendors::ConfigFault& fault : config.faults) lines.push_back(fault.text());
  return fail(Code::kInvalid, "--device-config-file: " + text::join(lines, "; "));
}

Result<ServePlan> check_options(const ServeOptions& options) {
  for (const Status& status :
       {check_selector(options.node_label_selector), check_times(options), check_words(options),
        check_leader(options), check_callers(options)}) {
    if (!status) return tl::unexpected(status.error());
  }
  Result<vendors::PolicyDefaults> defaults = find_policies(options);
  if (!defaults) return tl::unexpected(defaults.error());
  Result<vendors::Vendors> vendors = make_vendors(options.device_config, options.vendor_switches);
  if (!vendors) return tl::unexpected(vendors.error());
  return ServePlan{std::move(*vendors), std::move(*defaults)};
}

}  // namespace tessera::service
