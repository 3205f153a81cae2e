/// The measured program as a process of its own, so that its memory is its own. Ended, by its id,
/// with the object. Thread rule: one owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::bench {

/// A folder that goes away with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// The tessera of this build tree: one folder above the benchmarks.
std::string program_beside();

class ChildProcess {
 public:
  /// Standard error goes to `log_file`. `environment`: further NAME=value.
  static Result<std::unique_ptr<ChildProcess>> start(
      const std::vector<std::string>& command, const std::string& log_file,
      const std::vector<std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The number that follows `"<name>":` in the log line with the message "serving"; waits for it
  /// at most 30 s.
  Result<std::uint16_t> announced_port(std::string_view name = "port") const;
  pid_t id() const { return id_; }
  /// A line of /proc/<id>/status in kB, e.g. "VmRSS"; 0 when it is not there.
  std::int64_t memory_kb(std::string_view name) const;
  /// What its threads that live have used of the processors.
  std::chrono::nanoseconds processor_time() const;
  /// Processor time of all its threads so far, in user and kernel; 0 when it has ended.
  double cpu_seconds() const;

 private:
  ChildProcess(pid_t id, std::string log_file) : id_(id), log_file_(std::move(log_file)) {}
  bool ended() const;

  mutable pid_t id_;
  std::string log_file_;
};

}  // namespace tessera::bench
