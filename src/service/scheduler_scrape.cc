/// What the scheduler shows of itself: pages of metrics, and pods that passed it by.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/step_back.h"
#include "obs/log.h"
#include "obs/process.h"
#include "service/scheduler.h"
#include "service/scrape_text.h"

namespace tessera::service {
ScrapeFigures Scheduler::figures() {
  ScrapeFigures out{.bind_waiting = binder.waiting(),
                    .bind_active = binder.active(),
                    .reservations = books.reservation_count(),
                    .locked_nodes = books.locked_nodes().size(),
                    .state_queue = state.queued(),
                    .unassigned_pods = pod_watch.unassigned(),
                    .allocating = pod_watch.allocating()};
  for (Caches::Completeness& cache : caches->completeness()) {
    std::size_t objects = books.quota_count();
    if (cache.resource == "pods") objects = books.pods().size();
    if (cache.resource == "nodes") objects = books.nodes().size();
    out.caches.push_back({std::move(cache.resource), objects, cache.complete});
  }
  return out;
}

/// Case 104: the webhook did not see the pod, so a scheduler that knows no shared devices placed
/// it.
void Scheduler::tell_unassigned(const PodRecord& pod) {
  if (!leader.leads()) return;
  const PodFact& fact = pod.fact;
  log::warn("a pod that asks for devices was bound without any",
            {{"pod", fact.ns + "/" + fact.name}, {"node", fact.node}});
  events.write({"Pod", fact.ns, fact.name, fact.uid}, EventType::kWarning, "DevicesNotAssigned",
               fmt::format("the pod asks for shared devices and was bound to {} without any: it "
                           "did not pass the admission webhook, or names another scheduler. It "
                           "will fail there; delete it and create it anew",
                           fact.node));
}

std::optional<std::string> Scheduler::metrics_page() {
  step_back();
  const MonoTime begin = clock.mono();
  ScrapePicture picture;
  const std::shared_ptr<const FactReader> reader = live.get();
  if (!camera_.take(
          state, books, [this] { return figures(); }, reader->generation(), picture)) {
    return std::nullopt;
  }
  ScrapePage page =
      picture_page(picture, reader->vendors(), TESSERA_VERSION, options.legacy_metrics);
  if (page.duplicates > 0) {
    measures.scrape_duplicates.increment(static_cast<double>(page.duplicates));
    log::debug("rows of metrics with equal labels are left out",
               {{"rows", static_cast<std::uint64_t>(page.duplicates)}});
  }
  page.text += metrics.render();
  page.text += obs::process_text(obs::process_figures());
  measures.scrape_duration.observe(std::chrono::duration<double>(clock.mono() - begin).count());
  return std::move(page.text);
}

}  // namespace tessera::service
