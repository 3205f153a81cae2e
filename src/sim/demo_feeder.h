/// Creates the pods of a plan at a steady rate, again from the beginning when the plan is at its
/// end. Thread rule: tick() from one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/api.h"
#include "sim/trace.h"

namespace tessera::sim {

class DemoFeeder {
 public:
  DemoFeeder(client::ApiClient& api, std::vector<ReplayPod> plan, double pods_per_second,
             std::string scheduler_name);
  /// Sends what is due after `elapsed`; does not wait for the answers.
  void tick(std::chrono::milliseconds elapsed);
  std::uint64_t created() const { return counts_->created; }
  std::uint64_t failed() const { return counts_->failed; }

 private:
  struct Counts {
    std::atomic<std::uint64_t> created{0}, failed{0};
  };
  client::ApiClient& api_;
  std::vector<ReplayPod> plan_;
  double rate_;
  std::string scheduler_name_;
  std::uint64_t sent_ = 0;
  std::shared_ptr<Counts> counts_ =
      std::make_shared<Counts>();  ///< answers may come after the feeder is gone
};

/// The Pod object for one entry; `name` tells rounds apart.
std::string replay_pod_object(const ReplayPod& pod, const std::string& name,
                              const std::string& scheduler_name);

}  // namespace tessera::sim
