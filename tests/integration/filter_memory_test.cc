// What a filter call of a known class asks of the heap, from its body to the text of its answer,
// with events and measures on: what is kept of it, and nothing else. Counted on the thread that
// handles the call; events go out on another one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "client/api.h"
#include "heap_by_thread.h"
#include "obs/metrics.h"
#include "service/books.h"
#include "service/events.h"
#include "service/extender_call.h"
#include "service/facts.h"
#include "service/facts_test_reader.h"
#include "service/filter.h"
#include "service/measures.h"
#include "service/placer.h"

namespace tessera::test {
namespace {

using namespace service;

constexpr int kNodes = 300, kCards = 8, kCalls = 100;

std::string node_name(int n) { return fmt::format("a-node-with-a-long-name-{:05}", n); }

class FilterMemory : public testing::Test {
 protected:
  FilterMemory() {
    for (int n = 0; n < kNodes; ++n) books_.apply(node(n));
    std::string list;
    for (int n = 0; n < kNodes; ++n) list += (n == 0 ? "\"" : ",\"") + node_name(n) + "\"";
    names_ = list;
  }

  static NodeFact node(int n) {
    NodeFact fact;
    fact.name = fact.spec.name = node_name(n);
    fact.version = 1;
    for (int c = 0; c < kCards; ++c) {
      core::Device card;
      card.id = fmt::format("card-of-a-node-{:05}-{}", n, c);
      card.index = static_cast<std::uint32_t>(c);
      card.slots = 10;
      card.memory = {80'000};
      card.cores = {100};
      card.healthy = true;
      card.model = "NVIDIA-Tesla T4";
      card.mode = "hami-core";
      card.vendor = VendorId{0};
      fact.spec.devices.push_back(std::move(card));
    }
    fact.spec.offered = {true};
    return fact;
  }

  std::string body(int serial, int memory) const {
    std::string text = fmt::format(
        R"({{"Pod":{{"metadata":{{"name":"a-pod-with-a-long-name-{0:06}","namespace":"a-namespace-of-a-team",)"
        R"("uid":"5a1c7e90-0000-4000-8000-{0:012}","resourceVersion":"{0}","creationTimestamp":"2026-11-30T00:00:00Z",)"
        R"("labels":{{"app.kubernetes.io/name":"something-or-other"}},)"
        R"("annotations":{{"an.annotation/of-somebody":"with a value that is not short"}}}},)"
        R"("spec":{{"schedulerName":"hami-scheduler","preemptionPolicy":"PreemptLowerPriority","containers":[)"
        R"({{"name":"a-container-with-a-long-name","image":"registry.example.com/an/image:1",)"
        R"("env":[{{"name":"A","value":"b"}}],"resources":{{"limits":{{"cpu":"4","memory":"8Gi",)"
        R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"{1}","nvidia.com/gpucores":"10"}},)"
        R"("requests":{{"cpu":"4","memory":"8Gi"}}}}}}]}},)"
        R"("status":{{"phase":"Pending","qosClass":"Burstable"}}}},"Nodes":null,"NodeNames":[{2}]}})",
        serial, memory, names_);
    text.reserve(text.size() + 64);  // as the HTTP server hands it over
    return text;
  }
  static std::string uid(int serial) {
    return fmt::format("5a1c7e90-0000-4000-8000-{:012}", serial);
  }

  struct Spent {
    std::uint64_t reading = 0, deciding = 0;
  };
  Spent call(int serial) {
    std::string text = body(serial, 2000);
    Spent spent;
    FilterCallPool::Handle call;
    spent.reading = heap_requests_of([&] {
      call = pool_.take();
      call->arrived = clock_.mono();
      call->answer = [this](http::Response response) { answer_ = std::move(response.body); };
      EXPECT_TRUE(filter_.prepare(*call, std::move(text)));
    });
    spent.deciding = heap_requests_of([&] {
      filter_.decide(*call);
      call.reset();
    });
    EXPECT_NE(answer_.find(R"("NodeNames":["a-node-with-a-long-name)"), std::string::npos);
    return spent;
  }

  /// What is kept of a pod that was just decided, asked for once more: its request; the slices it
  /// gets; and the books' record of pod and reservation, with what they charge.
  Spent kept(int serial) {
    PodRecord& record = *books_.pod(uid(serial));
    core::Request request;
    Spent spent;
    spent.reading = heap_requests_of([&] { request = core::Request(*record.request); });
    core::Allocation slices;
    spent.deciding += heap_requests_of(
        [&] { slices = core::Allocation(books_.cluster().hold({uid(serial)})->allocation); });
    const std::string ns = record.fact.ns, name = record.fact.name, id = record.fact.uid;
    books_.remove_pod(id);
    spent.deciding += heap_requests_of([&] {
      PodRecord& again = books_.note_pod(ns, name, id);
      EXPECT_TRUE(books_.reserve(again, std::move(slices)));
      again.request = std::move(request);
    });
    books_.remove_pod(id);
    return spent;
  }

  /// Until their notes have been taken and their memory can be used again.
  void wait_for_events(int count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (written_.value() < count && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_GE(written_.value(), count);
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  Measures measures_{metrics_};
  LiveReader live_{default_reader()};
  Books books_{live_.get()->vendors().rules(), clock_, std::chrono::minutes(10), metrics_};
  Placer placer_{books_, {}};
  client::ApiClient api_{
      {.server = "http://127.0.0.1:1"}, {.low_qps = -1, .background = true}, metrics_};
  Events events_{api_,
                 clock_,
                 "hami-scheduler",
                 metrics_,
                 {.enabled = true, .limits = {.per_second = 0, .burst = 1, .most_waiting = 1000}}};
  Filter filter_{live_, books_, placer_, events_, measures_, clock_, {}};
  FilterCallPool pool_;
  obs::Counter written_ = metrics_.counter("tessera_events_written_total", "");
  std::string names_, answer_;
};

TEST_F(FilterMemory, AKnownClassAsksForWhatIsKeptAndNothingElse) {
  int serial = 0;
  // Notes of events lie in one of two places in turn: both, and all else, grow to their size.
  for (int round = 1; round <= 3; ++round) {
    while (serial < round * kCalls) {
      call(serial);
      kept(serial++);
    }
    wait_for_events(serial);
  }
  int beyond = 0;
  for (int i = 0; i < kCalls; ++i) {
    const Spent spent = call(serial);
    const Spent allowed = kept(serial++);
    EXPECT_LE(allowed.reading, 8U) << "the request";
    EXPECT_LE(allowed.deciding, 22U) << "slices, the pod's record, its reservation";
    beyond += spent.reading > allowed.reading ? 1 : 0;
    beyond += spent.deciding > allowed.deciding ? 1 : 0;
    EXPECT_LE(spent.reading, allowed.reading + 4) << i;
    EXPECT_LE(spent.deciding, allowed.deciding + 4) << i;
  }
  // Now and then: the client of the events is told that there are some, and a hash table grows.
  EXPECT_LE(beyond, 4);
}

}  // namespace
}  // namespace tessera::test
