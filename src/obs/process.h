/// The standard metrics of a process: processor time, memory, descriptors, start. Read from the
/// operating system at every scrape. Thread rule: any thread.
#pragma once

#include <string>

namespace tessera::obs {

struct ProcessFigures {
  double cpu_seconds = 0, start_seconds = 0;  ///< start: Unix time
  double resident_bytes = 0, virtual_bytes = 0;
  double open_fds = 0, max_fds = 0;
  double threads = 0;
};
/// Figures that cannot be read stay 0.
ProcessFigures process_figures();
/// Exposition format 0.0.4; what could not be read is left out.
std::string process_text(const ProcessFigures& figures);

}  // namespace tessera::obs
