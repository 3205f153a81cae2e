/// What the scheduler shows of itself: pages of metrics, and pods that passed it by.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/step_back.h"
#include "obs/log.h"
#include "obs/process.h"
#include "service/scheduler.h"
#include "service/scrape_text.h"

namespace tessera::service {
namespace {

/// So many clients that do not read cost less than the cluster itself does.
constexpr int kMostPages = 64;

/// One of the pages under way; measures the time that making it takes, not that of the client.
class CountedPage final : public http::PieceSource {
 public:
  CountedPage(std::shared_ptr<std::atomic<int>> pages, std::unique_ptr<PicturePage> page,
              const Clock& clock, MonoTime::duration taken, obs::Histogram duration)
      : pages_(std::move(pages)),
        page_(std::move(page)),
        clock_(clock),
        taken_(taken),
        duration_(duration) {
    pages_->fetch_add(1);
  }
  ~CountedPage() override { pages_->fetch_sub(1); }
  CountedPage(const CountedPage&) = delete;
  CountedPage& operator=(const CountedPage&) = delete;

  http::Piece next(std::string& piece) override {
    const MonoTime begin = clock_.mono();
    const http::Piece step = page_->next(piece);
    taken_ += clock_.mono() - begin;
    if (step == http::Piece::kLast) {
      duration_.observe(std::chrono::duration<double>(taken_).count());
    }
    return step;
  }

 private:
  const std::shared_ptr<std::atomic<int>> pages_;
  const std::unique_ptr<PicturePage> page_;
  const Clock& clock_;
  MonoTime::duration taken_;
  const obs::Histogram duration_;
};

}  // namespace

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

Result<std::unique_ptr<http::PieceSource>> Scheduler::metrics_page() {
  step_back();
  if (pages_->load() >= kMostPages) {
    return fail(Code::kUnavailable, "too many pages of metrics are under way");
  }
  const MonoTime begin = clock.mono();
  ScrapePicture picture;
  const std::shared_ptr<const FactReader> reader = live.get();
  if (!camera_.take(
          state, books, [this] { return figures(); }, reader->generation(), picture)) {
    return fail(Code::kUnavailable, "shutting down");
  }
  auto page = std::make_unique<PicturePage>(
      std::move(picture), std::shared_ptr<const vendors::Vendors>(reader, &reader->vendors()),
      TESSERA_VERSION, options.legacy_metrics,
      [this] { return metrics.render() + obs::process_text(obs::process_figures()); });
  if (const std::size_t duplicates = page->duplicates(); duplicates > 0) {
    measures.scrape_duplicates.increment(static_cast<double>(duplicates));
    log::debug("rows of metrics with equal labels are left out",
               {{"rows", static_cast<std::uint64_t>(duplicates)}});
  }
  const MonoTime end = clock.mono();
  return std::make_unique<CountedPage>(pages_, std::move(page), clock, end - begin,
                                       measures.scrape_duration);
}

}  // namespace tessera::service
