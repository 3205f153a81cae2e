/// What a process takes, by its id, whoever has started it. Thread rule: pure functions.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace tessera::bench {

/// A line of /proc/<id>/status in kB, e.g. "VmRSS"; 0 when it is not there.
std::int64_t memory_kb(pid_t id, std::string_view name);
/// What its threads that live have used of the processors.
std::chrono::nanoseconds processor_time(pid_t id);
/// The process that listens on that TCP port of this machine; 0: none, or one that may not be
/// looked at.
pid_t process_listening_on(std::uint16_t port);

}  // namespace tessera::bench
