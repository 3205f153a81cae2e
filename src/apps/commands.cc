#include "apps/commands.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/files.h"
#include "apps/process.h"
#include "apps/signals.h"
#include "apps/table.h"
#include "base/clock.h"
#include "base/free_memory.h"
#include "base/text.h"
#include "client/credentials.h"
#include "obs/log.h"
#include "service/serve_check.h"
#include "service/server.h"
#include "sim/demo.h"
#include "vendors/vendors.h"

namespace tessera::apps {
namespace {

void announce(const CommandLine& line, const service::Server& server) {
  for (const std::string& flag : line.without_effect)
    log::warn("flag is accepted and has no effect", {{"flag", flag}});
  if (line.device_config_file.empty())
    log::info("no --device-config-file: the built-in device configuration is in force");
  log::info("serving", {{"version", TESSERA_VERSION},
                        {"address", line.serve.http_bind},
                        {"port", static_cast<int>(server.port())},
                        {"metrics_port", static_cast<int>(server.metrics_port())},
                        {"tls", line.serve.cert_file.empty() ? "no" : "yes"}});
  if (!line.serve.extender_token_file.empty() && line.serve.extender_client_ca.empty())
    log::warn(
        "--extender-token-file without --extender-client-ca: kube-scheduler sends no token, "
        "its calls are refused unless a proxy adds it");
}

void serve_until_told(service::Server& server) {
  while (true) {
    const int number = wait_for_signal();
    if (number != SIGHUP) {
      log::info("stopping", {{"signal", number}});
      return;
    }
    server.reload_device_config();
    tell_certificate(server.reload_certificate());
  }
}

/// What the environment says and no flag has said. Source: spec/scheduler.md section 1.2.
void apply_environment(const CommandLine& line, service::ServeOptions& options) {
  options.pod_name = environment("POD_NAME").value_or("");
  options.pod_namespace = environment("POD_NAMESPACE").value_or("");
  if (options.leader_elect_host.empty()) {
    char host[256] = {};
    if (gethostname(host, sizeof host - 1) == 0) options.leader_elect_host = host;
  }
  const std::optional<std::string> expire = environment("HAMI_NODELOCK_EXPIRE");
  if (!expire || expire->empty()) return;
  const Result<std::chrono::milliseconds> age = parse_duration(*expire);
  if (!age || age->count() <= 0) {
    log::warn("HAMI_NODELOCK_EXPIRE is no duration above 0 and is not used", {{"value", *expire}});
  } else if (line.lock_timeout_given) {
    log::info("--node-lock-timeout is given: HAMI_NODELOCK_EXPIRE is not used",
              {{"value", *expire}});
  } else {
    options.node_lock_timeout = *age;
  }
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

int run_serve(const CommandLine& line) {
  limit_arenas();
  set_verbosity(line.verbosity);
  service::ServeOptions options = line.serve;
  Result<std::string> yaml = read_device_config(line.device_config_file);
  if (!yaml) return complain(yaml.error().what);
  options.device_config = std::move(*yaml);
  options.device_config_file = line.device_config_file;
  apply_environment(line, options);
  // A wrong flag is told before anything else is looked for; start() checks the same again.
  if (const auto plan = service::check_options(options); !plan) return complain(plan.error().what);
  const Result<client::Credentials> credentials =
      client::find_credentials(line.kubeconfig, environment);
  if (!credentials) return complain(credentials.error().what);
  const SystemClock clock;
  Result<std::unique_ptr<service::Server>> server =
      service::Server::start(options, *credentials, clock);
  if (!server) return complain(server.error().what);
  announce(line, **server);
  serve_until_told(**server);
  (*server)->stop();
  return 0;
}

int run_demo(const CommandLine& line) {
  sim::DemoOptions options = line.demo;
  options.terminal = isatty(STDOUT_FILENO) == 1;
  const StopFlag flag;
  const Result<int> code = sim::run_demo(options, flag.stop());
  return code ? *code : complain(code.error().what);
}

int run_vendors(const CommandLine& line) {
  const Result<std::string> yaml = read_device_config(line.device_config_file);
  if (!yaml) return complain(yaml.error().what);
  const Result<vendors::Vendors> vendors = service::make_vendors(*yaml, line.serve.vendor_switches);
  if (!vendors) return complain(vendors.error().what);
  std::vector<std::vector<std::string>> rows = {{"VENDOR", "SECTION", "COUNT", "MEMORY", "UNIT",
                                                 "PERCENT", "CORES", "REGISTER", "HANDSHAKE",
                                                 "TO-ALLOCATE", "ALLOCATED", "LOCK"}};
  for (const vendors::VendorDescription& v : vendors->table()) {
    rows.push_back({v.word, v.section, or_dash(v.count_resource), or_dash(v.memory_resource),
                    v.memory_resource.empty() ? "-" : fmt::format("{} MiB", v.memory_unit),
                    or_dash(v.memory_percent_resource), or_dash(v.core_resource),
                    or_dash(v.register_key), or_dash(v.handshake_key), or_dash(v.to_allocate_key),
                    or_dash(v.allocated_key), v.locks_node ? "yes" : "no"});
  }
  print_table(rows);
  return 0;
}

/// HAMi writes its six lines to standard error; people who ask `tessera` read standard output.
int run_version(const CommandLine& line) {
  fmt::print(line.as_scheduler ? stderr : stdout,
             "version: {}\nrevision: {}\nbuild date: {}\ngo version: none, this is C++\n"
             "compiler: {}\nplatform: {}\n",
             TESSERA_VERSION, TESSERA_REVISION, TESSERA_BUILD_DATE, TESSERA_COMPILER,
             TESSERA_PLATFORM);
  return 0;
}

}  // namespace tessera::apps
