#include "process_figures.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_set>

#include "base/text.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

/// As the links in /proc/<id>/fd name them.
std::unordered_set<std::string> listening_sockets(std::uint16_t port) {
  constexpr std::string_view kListening = "0A";
  const std::string ending = fmt::format(":{:04X}", port);
  std::unordered_set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      // slot, local, remote, state, queues, timer, retransmits, user, timeout, inode
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
          timeout >> inode;
      if (state == kListening && local.ends_with(ending))
        sockets.insert(fmt::format("socket:[{}]", inode));
    }
  }
  return sockets;
}

bool holds_one_of(const fs::path& process, const std::unordered_set<std::string>& sockets) {
  std::error_code problem;
  for (fs::directory_iterator at(process / "fd", problem), end; !problem && at != end;
       at.increment(problem)) {
    std::error_code gone;
    if (sockets.count(fs::read_symlink(at->path(), gone).string()) > 0) return true;
  }
  return false;
}

}  // namespace

std::int64_t memory_kb(pid_t id, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/status", id));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(std::string(name) + ":")) continue;
    const auto first = line.find_first_of("0123456789");
    return first == std::string::npos ? 0 : std::atoll(line.c_str() + first);
  }
  return 0;
}

std::chrono::nanoseconds processor_time(pid_t id) {
  std::int64_t sum = 0;
  std::error_code problem;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", id), problem), end;
       !problem && at != end; at.increment(problem)) {
    std::ifstream file(at->path() / "schedstat");  // time on a processor, waiting, slices
    std::int64_t nanoseconds = 0;
    if (file >> nanoseconds) sum += nanoseconds;
  }
  return std::chrono::nanoseconds(sum);
}

pid_t process_listening_on(std::uint16_t port) {
  const auto sockets = listening_sockets(port);
  if (sockets.empty()) return 0;
  std::error_code problem;
  for (fs::directory_iterator at("/proc", problem), end; !problem && at != end;
       at.increment(problem)) {
    const auto id = text::parse_int(at->path().filename().string(), 32);
    if (id && holds_one_of(at->path(), sockets)) return static_cast<pid_t>(*id);
  }
  return 0;
}

}  // namespace tessera::bench
