/// The flags of `tessera serve`: HAMi's, with their meaning or a warning, and ours. Source:
/// spec/scheduler.md section 1.1. For command_line.cc only.
#pragma once

#include <chrono>
#include <string>

#include "apps/command_line.h"

namespace CLI {
class App;
}

namespace tessera::apps {

void add_serve_flags(CLI::App& app, CommandLine& line);
void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into,
                  const std::string& help, bool* given = nullptr);

}  // namespace tessera::apps
