/// `tessera demo`: embedded API server, simulated agents, the real server and a scheduling loop,
/// shown live in the terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tessera::sim {

struct DemoOptions {
  int nodes = 20, devices = 8;
  double rate = 30;  ///< pods per second
  std::chrono::milliseconds duration{60'000};
  std::string trace_file;     ///< openb CSV; empty = the built-in cut of 500 rows
  std::uint16_t port = 8080;  ///< of the scheduler; 0 = any
  std::string kubeconfig_out;
  std::string answer = "single";  ///< of the scheduler: "scored" lets the scheduling loop pick
  bool terminal = true;           ///< false: one line a second
};
/// Returns the process exit code. `stop` becomes true on Ctrl-C.
Result<int> run_demo(const DemoOptions& options, const std::atomic<bool>& stop);

}  // namespace tessera::sim
