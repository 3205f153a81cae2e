/// A part of the bench in a process of its own, so that neither its memory nor its processor time
/// is taken for the measured program's. Started by fork: no other thread of the caller may be
/// running. Parent and child talk in lines. Thread rule: one owner.
///   auto host = HostProcess::start({.begin = …, .answer = …}); host->ask("how many");
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace tessera::bench {

class HostProcess {
 public:
  /// The child's part: makes what it serves, then answers questions one after the other. An error
  /// of the first function is what start() returns.
  struct Part {
    std::function<Status()> begin;
    std::function<Result<std::string>(const std::string& question)> answer;
  };
  static Result<std::unique_ptr<HostProcess>> start(const Part& part);
  ~HostProcess();  ///< ends the child
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  Result<std::string> ask(const std::string& question);
  pid_t id() const { return id_; }

 private:
  HostProcess(pid_t id, int socket) : id_(id), socket_(socket) {}
  Result<std::string> reply();

  const pid_t id_;
  const int socket_;
  std::string received_;
};

}  // namespace tessera::bench
