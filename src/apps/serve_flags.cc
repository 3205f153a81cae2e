#include "apps/serve_flags.h"

#include <CLI/CLI.hpp>
#include <array>

#include "base/clock.h"
#include "base/text.h"

namespace tessera::apps {
namespace {

/// Resource names that the device configuration file says; HAMi overwrites these flags as well.
constexpr std::array kNameFlags = {"--metax-name",
                                   "--metax-vcount",
                                   "--metax-vcore",
                                   "--metax-vmemory",
                                   "--mthreads-name",
                                   "--mthreads-memory",
                                   "--mthreads-cores",
                                   "--cambricon-mlu-name",
                                   "--cambricon-mlu-memory",
                                   "--cambricon-mlu-cores",
                                   "--dcu-name",
                                   "--dcu-memory",
                                   "--dcu-cores",
                                   "--kunlun-name",
                                   "--kunlun-vcount",
                                   "--kunlun-vmemory",
                                   "--enflame-gcu-resource-name",
                                   "--enflame-drs-gcu-resource-name",
                                   "--enflame-vgcu-resource-name",
                                   "--enflame-gcu-memory-resource-name",
                                   "--enflame-gcu-core-resource-name",
                                   "--enflame-vgcu-legacy-resource-name",
                                   "--enflame-vgcu-percentage-resource-name"};
/// Of the log library that HAMi uses; our log is one JSON object a line on standard error.
constexpr std::array kLogTexts = {"--vmodule",         "--log_dir",
                                  "--log_file",        "--log_file_max_size",
                                  "--stderrthreshold", "--alsologtostderrthreshold",
                                  "--log_backtrace_at"};
constexpr std::array kLogSwitches = {"--logtostderr",
                                     "--alsologtostderr",
                                     "--add_dir_header",
                                     "--skip_headers",
                                     "--skip_log_headers",
                                     "--one_output",
                                     "--legacy_stderr_threshold_behavior"};
/// Without effect in HAMi too, or for its own debugging.
constexpr std::array kOtherSwitches = {"--debug", "--sgpu-topology-aware", "--profiling"};

void add_bytes(CLI::App& app, const std::string& name, std::size_t& into, const std::string& help) {
  app.add_option(name, into, help)
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

void add_switch(CLI::App& app, const std::string& name, bool& into, const std::string& help) {
  app.add_flag(name, into, help)->default_str(into ? "true" : "false");
}

void add_cluster_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  app.add_option("--kubeconfig", line.kubeconfig,
                 "how to reach the cluster; else KUBECONFIG, ~/.kube/config, in-cluster")
      ->type_name("FILE");
  app.add_option("--kube-qps", o.kube_qps, "API requests per second; negative: no limit")
      ->capture_default_str();
  app.add_option("--kube-burst", o.kube_burst, "API requests at once")->capture_default_str();
  app.add_option_function<int>(
         "--kube-timeout", [&o](int seconds) { o.kube_timeout = std::chrono::seconds(seconds); },
         "seconds for one API request; 0: each request's own")
      ->default_str("0");
  app.add_option("--node-label-selector", o.node_label_selector, "only nodes with all these labels")
      ->type_name("K=V,…");
}

void add_listener_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  app.add_option("--http_bind", o.http_bind, "address of filter, bind, webhook and probes")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--cert_file", o.cert_file, "PEM certificate; with --key_file: HTTPS")
      ->type_name("FILE");
  app.add_option("--key_file", o.key_file, "PEM key")->type_name("FILE");
  app.add_option("--extender-client-ca", o.extender_client_ca,
                 "PEM authorities; callers of filter, bind and /v1 must show a certificate of one")
      ->type_name("FILE");
  app.add_option("--extender-token-file", o.extender_token_file,
                 "or send one of these tokens, one a line; kube-scheduler cannot send one")
      ->type_name("FILE");
  app.add_option("--metrics-bind-address", o.metrics_bind,
                 "plain HTTP with /metrics; empty or 0: only on the main address")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_bytes(app, "--extender-max-body", o.extender_max_body, "longest body of a filter call");
  add_bytes(app, "--webhook-max-body", o.webhook_max_body, "longest body of an admission call");
  app.add_option("--request-classes", o.request_classes,
                 "kinds of requests whose verdicts on the nodes are kept")
      ->capture_default_str();
  app.add_option("--placement-threads", o.placement_threads,
                 "threads that look at the nodes for a request of a new kind")
      ->capture_default_str();
  app.add_option("--http-threads", o.http_threads, "threads that read and write HTTP")
      ->capture_default_str();
}

void add_decision_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  app.add_option("--scheduler-name", o.scheduler_name,
                 "written into pods by the webhook, and the component of events");
  app.add_option("--node-scheduler-policy", o.node_policy, "default preference among nodes")
      ->capture_default_str();
  app.add_option("--priority-label", o.priority_label,
                 "label of nodes that the node policy label-priority reads")
      ->type_name("KEY")
      ->capture_default_str();
  app.add_option("--gpu-scheduler-policy", o.device_policy, "default preference among devices")
      ->capture_default_str();
  app.add_option("--score-mode", o.score_mode,
                 "whose order and choice: corrected, or hami for that of HAMi 2.10")
      ->capture_default_str();
  app.add_option("--device-config-file", line.device_config_file,
                 "device configuration; else the built-in one; a change takes effect by itself")
      ->type_name("FILE");
  add_switch(app, "--enable-ascend", o.vendor_switches.ascend,
             "serve the vendors of the section vnpus");
  add_switch(app, "--enable-iluvatar", o.vendor_switches.iluvatar,
             "serve the vendors of the section iluvatars");
  app.add_option("--answer", o.answer,
                 "what a filter call answers: single, the node chosen here; scored, all that fit, "
                 "and kube-scheduler picks with the scores of prioritize")
      ->capture_default_str();
  app.add_option("--nodes-form", o.nodes_form,
                 "what a filter call with full nodes means: simulate or live")
      ->capture_default_str();
  app.add_flag("--force-overwrite-default-scheduler", o.force_overwrite_default_scheduler,
               "the webhook takes pods of default-scheduler")
      ->default_str("true");
  app.add_option_function<std::string>(
         "--write-node-label",
         [&o](const std::string& how) {
           if (how != "binding" && how != "patch")
             throw CLI::ValidationError("--write-node-label",
                                        text::quote(how) + " is none of: binding, patch");
           o.write_node_label_by_patch = how == "patch";
         },
         "how pods get the label with their node: binding (no extra call) or patch")
      ->default_str("binding");
}

void add_lock_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  add_duration(app, "--node-lock-timeout", o.node_lock_timeout,
               "age after which a node lock is taken over; else HAMI_NODELOCK_EXPIRE",
               &line.lock_timeout_given);
  add_duration(app, "--node-lock-retry-timeout", o.node_lock_retry_timeout,
               "how long a bind waits for its node's lock; 0: not at all");
  add_switch(app, "--prefer-unlocked-nodes", o.prefer_unlocked_nodes,
             "among equally good nodes one whose lock is free");
  add_duration(app, "--reservation-ttl", o.reservation_ttl,
               "how long a filter answer holds its slices without a bind");
  add_duration(app, "--tentative-ttl", o.tentative_ttl,
               "the same with --answer=scored, where the node is a guess until the bind");
}

void add_leader_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  add_switch(app, "--leader-elect", o.leader_elect,
             "decide only while the Lease of the kube-scheduler beside us is held by it");
  app.add_option("--leader-elect-resource-name", o.leader_elect_name, "name of that Lease");
  app.add_option("--leader-elect-resource-namespace", o.leader_elect_namespace,
                 "namespace of that Lease");
  app.add_option("--leader-elect-host", o.leader_elect_host,
                 "host in the Lease's identity; else this machine's name");
}

void add_upkeep_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  add_switch(app, "--events", o.events, "write events on pods and nodes");
  add_switch(app, "--legacy-metrics", o.legacy_metrics,
             "HAMi's names of metrics up to 2.8 in addition");
  add_switch(app, "--wake-up-pending", o.wake_up_pending,
             "touch refused pods when there may be room for them");
  add_duration(app, "--self-check-interval", o.self_check_interval,
               "how often the books are compared with a recomputation; 0: never");
}

void add_preemption_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  app.add_option(
         "--preemption", o.preemption,
         "what is done for a pod that fits nowhere: off, or own, pods of lower priority are "
         "evicted")
      ->capture_default_str();
  app.add_option("--preemption-qps", o.preemption_qps,
                 "preemptions planned per second; 0 or less: no limit")
      ->capture_default_str();
  app.add_option("--preemption-burst", o.preemption_burst, "preemptions planned at once")
      ->capture_default_str();
  add_duration(app, "--preemption-deadline", o.preemption_deadline,
               "how long slices are held for a preemptor, beyond its victims' grace");
}

void add_accepted_flags(CLI::App& app, CommandLine& line) {
  const std::string group;  // empty: not shown in the help
  const auto note = [&line](const std::string& name) { line.without_effect.push_back(name); };
  const auto add_text = [&](const char* name) {
    app.add_option_function<std::string>(name, [note, name](const std::string&) { note(name); })
        ->group(group);
  };
  const auto add_flag = [&](const char* name) {
    app.add_flag_function(name, [note, name](std::int64_t) { note(name); })->group(group);
  };
  for (const char* name : kNameFlags) add_text(name);
  for (const char* name : kLogTexts) add_text(name);
  for (const char* name : kLogSwitches) add_flag(name);
  for (const char* name : kOtherSwitches) add_flag(name);
  app.add_option("-v,--v", line.verbosity, "log level; 4 and above: debug")->capture_default_str();
}

}  // namespace

void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into,
                  const std::string& help, bool* given) {
  app.add_option_function<std::string>(
         name,
         [name, &into, given](const std::string& text) {
           const auto value = parse_duration(text);
           if (!value) throw CLI::ValidationError(name, value.error().what);
           into = *value;
           if (given != nullptr) *given = true;
         },
         help)
      ->type_name("DURATION")
      ->default_str(format_duration(into));
}

void add_serve_flags(CLI::App& app, CommandLine& line) {
  add_listener_flags(app, line);
  add_cluster_flags(app, line);
  add_decision_flags(app, line);
  add_lock_flags(app, line);
  add_leader_flags(app, line);
  add_upkeep_flags(app, line);
  add_preemption_flags(app, line);
  add_accepted_flags(app, line);
}

}  // namespace tessera::apps
