/// Looks at the device configuration file while the program serves: a valid new text becomes a new
/// vendor table, an invalid one is refused in words and changes nothing. A ConfigMap's change shows
/// as another file behind the same links. Source: issue cases 176, spec/device-config.md section 7.
/// Thread rule: look() and stop() from any thread; hooks run on the own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "obs/metrics.h"
#include "service/task_thread.h"
#include "vendors/section.h"
#include "vendors/vendors.h"

namespace tessera::service {

class ConfigReload {
 public:
  struct Options {
    std::string path;
    std::string in_force;  ///< the text that was read at the start
    vendors::VendorSwitches switches;
    std::chrono::milliseconds poll{2'000};
  };
  struct Hooks {
    std::function<void(vendors::Vendors)> adopt;
    std::function<void(const std::string& problem)> refused;
  };
  ConfigReload(Options options, Hooks hooks, obs::Metrics& metrics);
  ~ConfigReload();

  void look();  ///< at once instead of with the next poll
  void stop();

 private:
  /// What tells one file from another without reading it.
  struct Signature {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  std::optional<Signature> signature() const;
  void poll();
  void examine(bool at_once);
  void read();
  void refuse(const std::string& problem);

  const Options options_;
  const Hooks hooks_;
  obs::Counter applied_, refused_;
  std::string seen_;                ///< the text that was read last, whatever became of it
  std::optional<Signature> read_;   ///< of the file that was read last
  std::optional<Signature> noted_;  ///< at the look before: a file that is being written changes
  bool missing_ = false;
  TaskThread thread_;  // last: it uses everything above
};

}  // namespace tessera::service
