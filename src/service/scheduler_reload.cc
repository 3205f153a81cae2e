/// What the scheduler does besides deciding: another vendor table when the device configuration
/// changes, wake-ups, the picture of quotas for the webhook. Everything here runs on the state
/// thread unless it says otherwise.
#include <memory>
#include <utility>

#include "obs/log.h"
#include "service/scheduler.h"

namespace tessera::service {
namespace {

constexpr std::chrono::milliseconds kBeat{100};

}  // namespace

void Scheduler::connect_news() {
  books.on_room = [this](std::string_view node, std::string_view ns) { waker.room(node, ns); };
  filter.on_placed = [this](const std::string& uid) {
    waker.placed(uid);
    preemption.placed(uid);
  };
  filter.on_nowhere = [this](const k8s::Pod& pod, const core::Request& request,
                             const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
    preemption.refused(pod, request, outcome, candidates);
  };
  filter.on_refused = [this](const std::string& uid) { waker.refused(uid); };
  waker.may_write = [this] { return leader.leads(); };
  if (options.device_config_file.empty()) return;
  reload = std::make_unique<ConfigReload>(
      ConfigReload::Options{.path = options.device_config_file,
                            .in_force = options.device_config,
                            .switches = options.vendor_switches,
                            .poll = options.config_poll},
      ConfigReload::Hooks{.adopt =
                              [this](vendors::Vendors next) {
                                auto table = std::make_shared<vendors::Vendors>(std::move(next));
                                state.post([this, table] { adopt(table); });
                              },
                          .refused =
                              [this](const std::string& problem) {
                                state.post([this, problem] {
                                  tell_own_pod(EventType::kWarning, "DeviceConfigRefused", problem);
                                });
                              }},
      metrics);
}

/// Calls wait until fresh lists were read by the new table; binds under way go on.
void Scheduler::adopt(const std::shared_ptr<const vendors::Vendors>& table) {
  const auto before = live.get();
  const auto after = std::make_shared<const FactReader>(
      table, before->defaults(), before->generation() + 1, before->keeps_labels());
  gate.close();
  live.replace(after);
  books.adopt(*before, *after);
  publish_quotas();
  waker.everything_is_new();  // before anything is looked at by node numbers that have changed
  caches->relist();
  tell_own_pod(EventType::kNormal, "DeviceConfigReloaded",
               "the changed device configuration is in force");
}

void Scheduler::tell_own_pod(EventType type, std::string_view reason, const std::string& message) {
  if (options.pod_name.empty() || options.pod_namespace.empty()) return;
  events.write({"Pod", options.pod_namespace, options.pod_name, {}}, type, reason, message);
}

void Scheduler::publish_quotas() {
  const core::QuotaBook& book = books.cluster().quotas();
  published_quotas_ = book.version();
  quota_view.publish(book.with_quotas());
}

void Scheduler::beat() {
  waker.tick();
  if (books.cluster().quotas().version() != published_quotas_) publish_quotas();
  state.after(kBeat, [this] { beat(); });
}

}  // namespace tessera::service
