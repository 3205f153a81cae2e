/// The sub-commands; each returns the exit code of the process.
#pragma once

#include "apps/command_line.h"

namespace tessera::apps {

int run_serve(const CommandLine& line);
int run_demo(const CommandLine& line);
int run_check_config(const std::string& file);
int run_version();

}  // namespace tessera::apps
