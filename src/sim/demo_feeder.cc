#include "sim/demo_feeder.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "json/writer.h"
#include "sim/agents.h"

namespace tessera::sim {

DemoFeeder::DemoFeeder(client::ApiClient& api, std::vector<ReplayPod> plan, double pods_per_second,
                       std::string scheduler_name)
    : api_(api),
      plan_(std::move(plan)),
      rate_(pods_per_second),
      scheduler_name_(std::move(scheduler_name)) {}

void DemoFeeder::tick(std::chrono::milliseconds elapsed) {
  if (plan_.empty()) return;
  const auto due = static_cast<std::uint64_t>(static_cast<double>(elapsed.count()) / 1000 * rate_);
  for (; sent_ < due; ++sent_) {
    const ReplayPod& pod = plan_[sent_ % plan_.size()];
    const std::uint64_t round = sent_ / plan_.size();
    const std::string name = round == 0 ? pod.name : fmt::format("{}-{}", pod.name, round + 1);
    client::ApiRequest request{.method = "POST",
                               .path = "/api/v1/namespaces/default/pods",
                               .body = replay_pod_object(pod, name, scheduler_name_)};
    api_.send(std::move(request), [counts = counts_](const client::ApiResponse& response) {
      ++(response.ok() ? counts->created : counts->failed);
    });
  }
}

std::string replay_pod_object(const ReplayPod& pod, const std::string& name,
                              const std::string& scheduler_name) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Pod");
  w.key("metadata").begin_object().key("name").string(name).key("namespace").string("default");
  w.key("labels").begin_object().key("app").string("openb").end_object();
  w.key("annotations")
      .begin_object()
      .key(kRunForKey)
      .string(format_duration(pod.run_for))
      .end_object()
      .end_object();
  w.key("spec")
      .begin_object()
      .key("schedulerName")
      .string(scheduler_name)
      .key("restartPolicy")
      .string("Never");
  w.key("containers")
      .begin_array()
      .begin_object()
      .key("name")
      .string("main")
      .key("image")
      .string("example.com/job");
  w.key("resources").begin_object().key("limits").begin_object();
  w.key("nvidia.com/gpu").string(std::to_string(pod.cards));
  w.key("nvidia.com/gpumem-percentage").string(std::to_string(pod.percent));
  w.key("nvidia.com/gpucores").string(std::to_string(pod.percent));
  w.end_object().end_object().end_object().end_array().end_object().end_object();
  return std::move(w).take();
}

}  // namespace tessera::sim
