#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/commands.h"
#include "apps/signals.h"
#include "base/free_memory.h"

int main(int argc, char** argv) {
  using namespace tessera::apps;
  tessera::map_large_blocks();
  block_signals();
  const std::string program = argc > 0 ? argv[0] : "tessera";
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  const CommandLine line = parse_command_line(program, std::move(arguments));
  switch (line.command) {
    case Command::kServe:
      return run_serve(line);
    case Command::kDemo:
      return run_demo(line);
    case Command::kCheckConfig:
      return run_check_config(line);
    case Command::kRender:
      return run_render(line);
    case Command::kVendors:
      return run_vendors(line);
    case Command::kExplain:
      return run_explain(line.explain);
    case Command::kVersion:
      return run_version(line);
    case Command::kLabelPriority:
      return run_label_priority(line);
    case Command::kExit:
      break;
  }
  fmt::print(line.exit_code == 0 ? stdout : stderr, "{}\n", line.message);
  return line.exit_code;
}
