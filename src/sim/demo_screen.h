/// What the demo shows: a picture of one moment made into a screen, a line or the summary. Thread
/// rule: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/agents.h"
#include "sim/scheduler_loop.h"

namespace tessera::sim {

struct DemoPicture {
  std::string model;
  std::chrono::milliseconds elapsed{0}, duration{0};  ///< duration 0 = until it is stopped
  std::vector<AgentNodeView> nodes;
  SchedulerLoopStats loop;
  std::vector<WaitingPod> waiting;  ///< the oldest
  double decisions_per_second = 0;
  std::uint64_t created = 0, finished = 0;
  std::string kubeconfig;  ///< file for kubectl, may be empty
};

struct DemoShares {
  double memory = 0, cores = 0;  ///< allocated, 0 to 1
  std::int64_t memory_used = 0, memory_total = 0, cores_used = 0, cores_total = 0;
  std::size_t running = 0;
};
DemoShares shares_of(const std::vector<AgentNodeView>& nodes);

struct ScreenSize {
  int width = 80, height = 24;
};
/// Exactly `height` rows of at most `width` characters, without line ends.
std::vector<std::string> render_screen(const DemoPicture& picture, ScreenSize size, bool colour);
/// One line for a log: "00:12 decisions 31/s …".
std::string render_line(const DemoPicture& picture);

struct DemoSummary {
  DemoPicture picture;  ///< at the end
  double mean_memory = 0, mean_cores = 0;
  std::string what;                 ///< "openb list of 434 pods"
  std::vector<std::string> faults;  ///< broken rules; empty = none
};
std::string render_summary(const DemoSummary& summary);

}  // namespace tessera::sim
