#include "apps/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace tessera::apps {
namespace {

/// HAMi leaves with this code when its command line is wrong.
constexpr int kWrongCommandLine = 255;

/// Flags of HAMi that take a text and do nothing here: the device configuration file says it.
constexpr std::array kIgnoredTexts = {"--metax-name",
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
                                      "--enflame-vgcu-percentage-resource-name",
                                      "--vmodule",
                                      "--log_dir",
                                      "--log_file",
                                      "--log_file_max_size",
                                      "--stderrthreshold",
                                      "--alsologtostderrthreshold",
                                      "--log_backtrace_at",
                                      "--leader-elect-resource-name",
                                      "--leader-elect-resource-namespace"};
constexpr std::array kIgnoredSwitches = {"--debug",
                                         "--enable-ascend",
                                         "--enable-iluvatar",
                                         "--sgpu-topology-aware",
                                         "--logtostderr",
                                         "--alsologtostderr",
                                         "--add_dir_header",
                                         "--skip_headers",
                                         "--skip_log_headers",
                                         "--one_output",
                                         "--legacy_stderr_threshold_behavior",
                                         "--profiling"};
/// These would change what the program does; saying nothing would be a lie.
constexpr std::array kNotYetSwitches = {"--leader-elect", "--legacy-metrics"};

void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into,
                  const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &into](const std::string& text) {
           const auto value = parse_duration(text);
           if (!value) throw CLI::ValidationError(name, value.error().what);
           into = *value;
         },
         help)
      ->type_name("DURATION")
      ->default_str(format_duration(into));
}

void add_bytes(CLI::App& app, const std::string& name, std::size_t& into, const std::string& help) {
  app.add_option(name, into, help)
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
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
  app.add_option("--metrics-bind-address", o.metrics_bind,
                 "plain HTTP with /metrics; empty or 0: only on the main address")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_bytes(app, "--extender-max-body", o.extender_max_body, "longest body of a filter call");
  add_bytes(app, "--webhook-max-body", o.webhook_max_body, "longest body of an admission call");
  app.add_option("--http-threads", o.http_threads, "threads that read and write HTTP")
      ->capture_default_str();
}

void add_decision_flags(CLI::App& app, CommandLine& line) {
  service::ServeOptions& o = line.serve;
  app.add_option("--scheduler-name", o.scheduler_name,
                 "written into pods by the webhook, and the component of events");
  app.add_option("--node-scheduler-policy", o.node_policy, "default preference among nodes")
      ->capture_default_str();
  app.add_option("--gpu-scheduler-policy", o.device_policy, "default preference among devices")
      ->capture_default_str();
  app.add_option("--device-config-file", line.device_config_file,
                 "device configuration; else the built-in one")
      ->type_name("FILE");
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
  add_duration(app, "--node-lock-timeout", o.node_lock_timeout,
               "age after which a node lock is taken over");
  add_duration(app, "--node-lock-retry-timeout", o.node_lock_retry_timeout,
               "how long a bind waits for its node's lock; 0: not at all");
  add_duration(app, "--reservation-ttl", o.reservation_ttl,
               "how long a filter answer holds its slices without a bind");
}

void add_accepted_flags(CLI::App& app, CommandLine& line) {
  const std::string group;  // empty: not shown in the help
  const auto note = [&line](const std::string& name) { line.without_effect.push_back(name); };
  for (const char* name : kIgnoredTexts)
    app.add_option_function<std::string>(name, [](const std::string&) {})->group(group);
  for (const char* name : kIgnoredSwitches)
    app.add_flag_function(name, [](std::int64_t) {})->group(group);
  for (const char* name : kNotYetSwitches) {
    app.add_flag_function(name,
                          [note, name](std::int64_t on) {
                            if (on > 0) note(name);
                          })
        ->group(group);
  }
  app.add_option("-v,--v", line.verbosity, "log level; 4 and above: debug")->capture_default_str();
}

void add_demo(CLI::App& root, CommandLine& line) {
  sim::DemoOptions& o = line.demo;
  CLI::App* app = root.add_subcommand(
      "demo", "watch pods being placed on a cluster that lives inside the program");
  app->add_option("--nodes", o.nodes, "nodes")->capture_default_str()->check(CLI::Range(1, 10'000));
  app->add_option("--devices", o.devices, "devices per node")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app->add_option("--rate", o.rate, "pods per second")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_duration(*app, "--for", o.duration, "how long pods arrive");
  app->add_option("--trace", o.trace_file,
                  "pod list in the openb CSV form; else a built-in cut of 500 rows")
      ->type_name("FILE");
  app->add_option("--port", o.port, "of the scheduler; 0: any")->capture_default_str();
  app->add_option("--kubeconfig-out", o.kubeconfig_out, "write a kubeconfig for kubectl here")
      ->type_name("FILE");
  app->callback([&line] { line.command = Command::kDemo; });
}

void add_serve(CLI::App& root, CommandLine& line) {
  CLI::App* app = root.add_subcommand("serve", "the scheduler extender and webhook");
  add_listener_flags(*app, line);
  add_cluster_flags(*app, line);
  add_decision_flags(*app, line);
  add_accepted_flags(*app, line);
  app->callback([&line] { line.command = Command::kServe; });
}

/// `-v=4` is how Go spells it; CLI11 would take "=4" as the value.
void respell_verbosity(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.rfind("-v=", 0) == 0) argument.insert(0, "-");
  }
}

bool serves_by_name(const std::string& program, const std::vector<std::string>& arguments) {
  const std::size_t slash = program.rfind('/');
  const std::string name = slash == std::string::npos ? program : program.substr(slash + 1);
  if (name != "scheduler") return false;
  static constexpr std::array<std::string_view, 5> kWords = {"version", "serve", "demo",
                                                             "check-config", "help"};
  return arguments.empty() ||
         std::find(kWords.begin(), kWords.end(), arguments.front()) == kWords.end();
}

}  // namespace

CommandLine parse_command_line(const std::string& program, std::vector<std::string> arguments) {
  CommandLine line;
  respell_verbosity(arguments);
  if (serves_by_name(program, arguments)) arguments.insert(arguments.begin(), "serve");
  CLI::App root("A scheduler for slices of accelerators on Kubernetes.", "tessera");
  root.require_subcommand(1);
  add_serve(root, line);
  add_demo(root, line);
  CLI::App* check =
      root.add_subcommand("check-config", "name every fault of a device configuration file");
  check->add_option("FILE", line.config_file, "the file")->required();
  check->callback([&line] { line.command = Command::kCheckConfig; });
  root.add_subcommand("version", "the version")->callback([&line] {
    line.command = Command::kVersion;
  });
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    root.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    line.message = chosen.empty() ? root.help() : chosen.front()->help();
    line.command = Command::kExit;
  } catch (const CLI::ParseError& error) {
    const auto chosen = root.get_subcommands();
    line.command = Command::kExit;
    line.exit_code = kWrongCommandLine;
    line.message = fmt::format("{}\n\n{}", error.what(),
                               chosen.empty() ? root.help() : chosen.front()->help());
  }
  return line;
}

}  // namespace tessera::apps
