#include "child_process.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/read_file.h"
#include "base/text.h"
#include "process_figures.h"

extern char** environ;

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;

std::string_view digits_after(std::string_view text, std::string_view mark) {
  const auto found = text.find(mark);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + mark.size());
  return text.substr(0, text.find_first_not_of("0123456789"));
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  return pointers;
}

}  // namespace

std::string program_beside() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tessera")
      .string();
}

Folder::Folder() {
  path_ = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) path_ = ".";
}

Folder::~Folder() {
  std::error_code ignored;
  if (path_ != ".") std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(
    const std::vector<std::string>& command, const std::string& log_file,
    const std::vector<std::string>& environment) {
  auto arguments = pointers_to(command);
  arguments.push_back(nullptr);
  auto variables = pointers_to(environment);  // the first of a name counts
  for (char** inherited = environ; *inherited != nullptr; ++inherited)
    variables.push_back(*inherited);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log_file.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t id = 0;
  const int problem = posix_spawn(&id, command.front().c_str(), &files, nullptr, arguments.data(),
                                  variables.data());
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) {
    return fail(Code::kNotFound, command.front() + ": " + std::strerror(problem));
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(id, log_file));
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill(id_, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (!ended()) {
    if (std::chrono::steady_clock::now() > end) kill(id_, SIGKILL);
    std::this_thread::sleep_for(5ms);
  }
}

bool ChildProcess::ended() const {
  if (id_ != 0 && waitpid(id_, nullptr, WNOHANG) == id_) id_ = 0;
  return id_ == 0;
}

Result<std::uint16_t> ChildProcess::announced_port(std::string_view name) const {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end && !ended()) {
    const std::string log = read_file(log_file_).value_or("");
    const auto line = log.find("\"msg\":\"serving\"");
    const auto whole = line == std::string::npos ? line : log.find('\n', line);
    if (whole != std::string::npos) {
      const auto port = text::parse_int(
          digits_after(std::string_view(log).substr(line), fmt::format("\"{}\":", name)), 32);
      if (!port) return tl::unexpected(port.error());
      return static_cast<std::uint16_t>(*port);
    }
    std::this_thread::sleep_for(5ms);
  }
  return fail(Code::kUnavailable,
              "the server did not say its port; its log:\n" + read_file(log_file_).value_or(""));
}

double ChildProcess::cpu_seconds() const {
  const std::string stat = read_file("/proc/" + std::to_string(id_) + "/stat").value_or("");
  const auto name_end = stat.rfind(')');  // the name may hold blanks
  if (name_end == std::string::npos) return 0;
  constexpr std::size_t kUser = 12, kKernel = 13;  // of the fields behind the name
  const auto fields = text::split(std::string_view(stat).substr(name_end + 1), ' ');
  if (fields.size() <= kKernel) return 0;
  const std::int64_t ticks = text::parse_int(fields[kUser], 64).value_or(0) +
                             text::parse_int(fields[kKernel], 64).value_or(0);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::int64_t ChildProcess::memory_kb(std::string_view name) const {
  return bench::memory_kb(id_, name);
}

std::chrono::nanoseconds ChildProcess::processor_time() const { return bench::processor_time(id_); }

}  // namespace tessera::bench
