/// What the user typed, as values. Source: spec/scheduler.md section 1.1. CLI11 stays in the .cc
/// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "label_priority/server.h"
#include "service/server.h"
#include "setup/render.h"
#include "sim/demo.h"

namespace tessera::apps {

enum class Command : std::uint8_t {
  kExit,
  kServe,
  kDemo,
  kRender,
  kCheckConfig,
  kVendors,
  kExplain,
  kVersion,
  kLabelPriority
};

struct ExplainOptions {
  std::vector<std::string> words;  ///< "pod", "NAMESPACE/NAME"; empty with a file
  std::string file;                ///< "-" = standard input
  std::string server = "http://127.0.0.1:8080";
  std::string ca_file, cert_file, key_file, token_file;
  bool insecure = false, json = false;
  int limit = 50;
};

/// Of `render scheduler-config` and `check-config`.
struct SetupOptions {
  setup::RenderOptions render;
  std::string scheduler_config;  ///< the file to check; "" = none
};

struct CommandLine {
  Command command = Command::kExit;
  bool as_scheduler = false;  ///< started under HAMi's name
  int exit_code = 0;          ///< of kExit
  std::string
      message;  ///< of kExit: help to standard output when the code is 0, else to standard error

  service::ServeOptions serve;
  std::string kubeconfig, device_config_file;
  bool lock_timeout_given = false;  ///< else HAMI_NODELOCK_EXPIRE counts
  int verbosity = 0;
  std::vector<std::string> without_effect;  ///< flags that were given, are known, and do nothing
  sim::DemoOptions demo;
  ExplainOptions explain;
  SetupOptions setup;
  label_priority::Options label_priority;
  std::string config_file;  ///< of check-config
};

/// `arguments` without the program's name. A program called `scheduler` serves without being told,
/// as HAMi's does.
CommandLine parse_command_line(const std::string& program, std::vector<std::string> arguments);

}  // namespace tessera::apps
