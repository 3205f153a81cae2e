/// The flags of `tessera label-priority`. For command_line.cc only.
#pragma once

#include "apps/command_line.h"

namespace CLI {
class App;
}

namespace tessera::apps {

void add_label_priority(CLI::App& root, CommandLine& line);

}  // namespace tessera::apps
