/// What the user typed, as values. Source: spec/scheduler.md section 1.1. CLI11 stays in the .cc
/// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/server.h"
#include "sim/demo.h"

namespace tessera::apps {

enum class Command : std::uint8_t { kExit, kServe, kDemo, kCheckConfig, kVersion };

struct CommandLine {
  Command command = Command::kExit;
  int exit_code = 0;  ///< of kExit
  std::string
      message;  ///< of kExit: help to standard output when the code is 0, else to standard error

  service::ServeOptions serve;
  std::string kubeconfig, device_config_file;
  int verbosity = 0;
  std::vector<std::string>
      without_effect;  ///< flags that were given, are known, and do nothing in this build
  sim::DemoOptions demo;
  std::string config_file;  ///< of check-config
};

/// `arguments` without the program's name. A program called `scheduler` serves without being told,
/// as HAMi's does.
CommandLine parse_command_line(const std::string& program, std::vector<std::string> arguments);

}  // namespace tessera::apps
