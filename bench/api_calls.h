/// How many requests the scheduler makes for a pod: those on pods, pods/binding and nodes, without
/// lists, watches, events and handshakes (decisions D16). Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tessera::bench {

class ApiCalls {
 public:
  /// `line`: "VERB path?query".
  void saw(std::string_view user_agent, std::string_view line, std::string_view body);
  void clear();

  struct Figures {
    std::uint64_t pods = 0;   ///< that some request named
    std::uint64_t named = 0;  ///< requests that name their pod
    std::uint64_t other = 0;  ///< that do not, and count all the same: a node that is read
    double mean = 0;          ///< of both, over the pods
    std::uint64_t median = 0, most = 0;
  };
  Figures figures() const;
  /// "PATCH nodes 1000, POST pods/binding 1000"
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> by_pod_, by_kind_;
  std::uint64_t other_ = 0;
};

}  // namespace tessera::bench
