#include "apps/commands.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "apps/signals.h"
#include "base/clock.h"
#include "base/text.h"
#include "client/credentials.h"
#include "obs/log.h"
#include "service/serve_check.h"
#include "service/server.h"
#include "sim/demo.h"
#include "vendors/config.h"

namespace tessera::apps {
namespace {

constexpr int kDebugVerbosity = 4;

int complain(const std::string& problem) {
  fmt::print(stderr, "tessera: {}\n", problem);
  return 1;
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, fmt::format("{}: cannot be opened", path));
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(Code::kUnavailable, fmt::format("{}: cannot be read", path));
  return content;
}

void announce(const CommandLine& line, const service::Server& server) {
  for (const std::string& flag : line.without_effect)
    log::warn("flag has no effect in this build", {{"flag", flag}});
  if (line.device_config_file.empty())
    log::info("no --device-config-file: the built-in device configuration is in force");
  log::info("serving", {{"version", TESSERA_VERSION},
                        {"address", line.serve.http_bind},
                        {"port", static_cast<int>(server.port())},
                        {"metrics_port", static_cast<int>(server.metrics_port())},
                        {"tls", line.serve.cert_file.empty() ? "no" : "yes"}});
}

void serve_until_told(service::Server& server) {
  while (true) {
    const int number = wait_for_signal();
    if (number != SIGHUP) {
      log::info("stopping", {{"signal", number}});
      return;
    }
    const Status reloaded = server.reload_certificate();
    if (reloaded)
      log::info("certificate is read again");
    else
      log::error("certificate cannot be read; the old one stays",
                 {{"problem", reloaded.error().what}});
  }
}

}  // namespace

int run_serve(const CommandLine& line) {
  log::set_level(line.verbosity >= kDebugVerbosity ? log::Level::kDebug : log::Level::kInfo);
  service::ServeOptions options = line.serve;
  if (!line.device_config_file.empty()) {
    Result<std::string> yaml = read_file(line.device_config_file);
    if (!yaml) return complain("--device-config-file: " + yaml.error().what);
    if (text::trim(*yaml).empty())
      return complain("--device-config-file: " + line.device_config_file + " is empty");
    options.device_config = std::move(*yaml);
  }
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

int run_check_config(const std::string& file) {
  const Result<std::string> yaml = read_file(file);
  if (!yaml) return complain(yaml.error().what);
  const vendors::ConfigResult result = vendors::parse_device_config(*yaml);
  for (const vendors::ConfigFault& fault : result.faults)
    fmt::print("{}: {}\n", file, fault.text());
  for (const vendors::ConfigFault& note : result.notes)
    fmt::print("{}: note: {}\n", file, note.text());
  if (!result.faults.empty()) return 1;
  fmt::print("{}: in order\n", file);
  return 0;
}

int run_version() {
  fmt::print("version: {}\n", TESSERA_VERSION);
  return 0;
}

}  // namespace tessera::apps
