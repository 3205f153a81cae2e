#include "obs/process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

namespace tessera::obs {
namespace {

/// Fields of /proc/self/stat behind the name, counted from the state as 0 (proc(5) counts it as 3).
enum Field : std::size_t {
  kUserTicks = 11,
  kSystemTicks = 12,
  kThreads = 17,
  kStartTicks = 19,
  kVirtualBytes = 20,
  kResidentPages = 21,
  kFieldCount = 22
};

std::array<double, kFieldCount> stat_fields() {
  std::array<double, kFieldCount> fields{};
  std::ifstream file("/proc/self/stat");
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = line.rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string::npos) return fields;
  std::istringstream rest(line.substr(name_end + 1));
  std::string state;
  rest >> state;
  for (std::size_t i = 1; i < fields.size(); ++i) rest >> fields[i];
  return fields;
}

double boot_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  double value = 0;
  while (file >> word) {
    if (word == "btime" && file >> value) return value;
  }
  return 0;
}

double count_open_fds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return 0;
  double count = -3;  // ".", ".." and the descriptor that reads the folder
  while (readdir(folder.get()) != nullptr) ++count;
  return count;
}

double max_fds() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

ProcessFigures process_figures() {
  const auto fields = stat_fields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessFigures figures;
  figures.cpu_seconds = (fields[kUserTicks] + fields[kSystemTicks]) / ticks;
  figures.resident_bytes = fields[kResidentPages] * static_cast<double>(sysconf(_SC_PAGESIZE));
  figures.virtual_bytes = fields[kVirtualBytes];
  figures.threads = fields[kThreads];
  if (const double boot = boot_seconds(); boot > 0) {
    figures.start_seconds = boot + fields[kStartTicks] / ticks;
  }
  figures.open_fds = count_open_fds();
  figures.max_fds = max_fds();
  return figures;
}

std::string process_text(const ProcessFigures& figures) {
  std::string out;
  const auto write = [&](std::string_view name, std::string_view type, std::string_view help,
                         double value) {
    if (value <= 0) return;
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type,
                   help, value);
  };
  write("process_cpu_seconds_total", "counter", "Processor time used, user and system.",
        figures.cpu_seconds);
  write("process_resident_memory_bytes", "gauge", "Memory in use.", figures.resident_bytes);
  write("process_virtual_memory_bytes", "gauge", "Address space in use.", figures.virtual_bytes);
  write("process_open_fds", "gauge", "Open file descriptors.", figures.open_fds);
  write("process_max_fds", "gauge", "File descriptors that may be open.", figures.max_fds);
  write("process_threads", "gauge", "Threads of the process.", figures.threads);
  write("process_start_time_seconds", "gauge", "When the process started, Unix time.",
        figures.start_seconds);
  return out;
}

}  // namespace tessera::obs
