/// The flags of `tessera render scheduler-config` and `tessera check-config`. For command_line.cc
/// only.
#pragma once

#include "apps/command_line.h"

namespace CLI {
class App;
}

namespace tessera::apps {

void add_render(CLI::App& root, CommandLine& line);
void add_check_config(CLI::App& root, CommandLine& line);

}  // namespace tessera::apps
