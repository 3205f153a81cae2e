/// The sub-commands; each returns the exit code of the process.
#pragma once

#include "apps/command_line.h"

namespace tessera::apps {

int run_serve(const CommandLine& line);
int run_demo(const CommandLine& line);
int run_render(const CommandLine& line);
int run_check_config(const CommandLine& line);
int run_vendors(const CommandLine& line);
int run_explain(const ExplainOptions& options);
int run_label_priority(const CommandLine& line);
int run_version(const CommandLine& line);

}  // namespace tessera::apps
