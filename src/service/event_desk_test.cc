// Which event goes out when: a second at a time, by a clock of the test.
#include "service/event_desk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/event_queue.h"

namespace tessera::service {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

class EventDeskTest : public testing::Test {
 protected:
  void open(const EventLimits& limits) { desk_.emplace(metrics_, limits, clock_.mono()); }
  void comes(EventType type, const std::string& pod, const std::string& message = "") {
    EventNote note;
    note.kind = "Pod";
    note.ns = "default";
    note.name = pod;
    note.uid = "uid-" + pod;
    note.reason = type == EventType::kWarning ? "FilteringFailed" : "FilteringSucceed";
    note.type = type;
    note.message = message;
    note.happened = clock_.wall();
    desk_->take_in(note, clock_.mono());
  }
  void succeeds(const std::string& pod) { comes(EventType::kNormal, pod); }
  void fails(const std::string& pod, const std::string& message = "") {
    comes(EventType::kWarning, pod, message);
  }
  /// Who goes out in one beat, in its order: the pod, and what is new or how often it was.
  Words beat() {
    desk_->begin_beat(clock_.mono());
    Words out;
    while (const auto event = desk_->next(clock_.mono(), clock_.wall())) {
      out.push_back(event->note.name);
      if (!event->is_new) out.back() += fmt::format(" x{}", event->series.count);
      names_[event->note.name] = {event->series.key, event->series.name};
    }
    return out;
  }
  Words beat_after(std::chrono::milliseconds pause) {
    clock_.advance(pause);
    return beat();
  }
  double count(const char* what) {
    return metrics_.counter(fmt::format("tessera_events_{}_total", what), "").value();
  }

  ManualClock clock_{WallTime(std::chrono::hours(24 * 365 * 50))};
  obs::Metrics metrics_;
  std::optional<EventDesk> desk_;
  std::map<std::string, std::pair<std::string, std::string>> names_;
};

TEST_F(EventDeskTest, ManySuccessesASecondAndOneWarningTheWarningGoesInTheNextBeat) {
  open({.per_second = 20, .burst = 20, .most_waiting = 100});
  int pod = 0;
  const auto second = [&] {
    for (int i = 0; i < 60; ++i) succeeds(fmt::format("p{}", pod++));  // 30 pods, two events each
  };
  for (int i = 0; i < 5; ++i) {
    second();
    EXPECT_EQ(beat_after(1s).size(), 20U);
  }
  EXPECT_EQ(desk_->waiting(), 80U) << "the queue is full before each beat";
  second();
  fails("huge");
  const Words next = beat_after(1s);
  ASSERT_EQ(next.size(), 20U) << "what the budget carries, not more";
  EXPECT_EQ(next[0], "huge");
  EXPECT_EQ(next[1], "p261") << "then the others, the oldest that are still there";
  EXPECT_EQ(count("dropped"), pod + 1 - 6 * 20 - 80) << "each one that was not written is counted";
  EXPECT_EQ(count("merged"), 0);
}

TEST_F(EventDeskTest, WhatIsNotWorthABudgetGoesOutAtOnceAfterAQuietTime) {
  open({.per_second = 2, .burst = 3, .most_waiting = 100});
  for (const char* pod : {"a", "b", "c", "d", "e", "f"}) succeeds(pod);
  EXPECT_EQ(beat(), (Words{"a", "b", "c"})) << "the burst";
  EXPECT_EQ(beat(), Words{}) << "the rest waits";
  EXPECT_EQ(beat_after(1s), (Words{"d", "e"}));
  EXPECT_EQ(beat_after(1s), Words{"f"});
  EXPECT_EQ(count("dropped"), 0);
}

TEST_F(EventDeskTest, WithoutALimitNothingWaits) {
  open({.per_second = 0, .burst = 1, .most_waiting = 100});
  for (int i = 0; i < 100; ++i) succeeds(fmt::format("p{}", i));
  EXPECT_EQ(beat().size(), 100U);
}

TEST_F(EventDeskTest, AWarningIsNeverGivenUpWhileASuccessWaits) {
  open({.per_second = 0.001, .burst = 3, .most_waiting = 3});
  for (const char* pod : {"s1", "s2", "s3"}) succeeds(pod);
  fails("w1");
  fails("w2");
  EXPECT_EQ(count("dropped"), 2) << "s1 and s2";
  succeeds("s4");
  EXPECT_EQ(count("dropped"), 3) << "s3, the oldest";
  fails("w3");
  EXPECT_EQ(count("dropped"), 4) << "s4";
  succeeds("s5");
  EXPECT_EQ(count("dropped"), 5) << "itself: only warnings wait";
  fails("w4");
  EXPECT_EQ(count("dropped"), 6) << "the oldest warning, for nothing else waits";
  EXPECT_EQ(beat(), (Words{"w2", "w3", "w4"}));
}

TEST_F(EventDeskTest, WhatWaitsIsSaidOnceWithItsNewestWords) {
  open({.per_second = 1, .burst = 1, .most_waiting = 2});
  fails("first");
  EXPECT_EQ(beat(), Words{"first"});
  const WallTime begin = clock_.wall();
  for (int i = 1; i <= 50; ++i) {
    fails("again", fmt::format("try {}", i));
    clock_.advance(10ms);
  }
  EXPECT_EQ(count("merged"), 49);
  EXPECT_EQ(count("dropped"), 0) << "repeats take no room";
  clock_.advance(1s);
  desk_->begin_beat(clock_.mono());
  const auto event = desk_->next(clock_.mono(), clock_.wall());
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->is_new);
  EXPECT_EQ(event->note.message, "try 50");
  EXPECT_EQ(event->series.count, 50);
  EXPECT_EQ(event->series.first, begin) << "when it happened, not when it was written";
  EXPECT_EQ(event->series.last, begin + 490ms);
}

TEST_F(EventDeskTest, RepeatsAreOnlyCountedForAWhileThenCountedUpThenWrittenAnew) {
  open({});
  fails("p");
  EXPECT_EQ(beat(), Words{"p"});
  const std::string name = names_["p"].second;
  clock_.advance(4s);
  fails("p");
  EXPECT_EQ(beat(), Words{}) << "within five seconds of what was written";
  EXPECT_EQ(count("merged"), 1);
  clock_.advance(1s);
  fails("p");
  EXPECT_EQ(beat(), Words{"p x3"});
  EXPECT_EQ(names_["p"].second, name);
  clock_.advance(31min);
  fails("p");
  EXPECT_EQ(beat(), Words{"p"}) << "the server will have forgotten the old one";
  EXPECT_NE(names_["p"].second, name);
}

TEST_F(EventDeskTest, OneThatWasGivenUpIsWrittenAnewWhenItComesAgain) {
  open({.per_second = 1, .burst = 1, .most_waiting = 1});
  succeeds("p");
  succeeds("other");
  EXPECT_EQ(count("dropped"), 1);
  EXPECT_EQ(beat(), Words{"other"});
  succeeds("p");
  EXPECT_EQ(beat_after(1s), Words{"p"});
}

TEST_F(EventDeskTest, OneThatTheServerHasNotIsWrittenAnew) {
  open({});
  fails("p");
  EXPECT_EQ(beat(), Words{"p"});
  desk_->not_there(names_["p"].first, "of another time");
  fails("p");
  EXPECT_EQ(beat(), Words{}) << "a repeat";
  desk_->not_there(names_["p"].first, names_["p"].second);
  fails("p");
  EXPECT_EQ(beat(), Words{"p"});
}

TEST_F(EventDeskTest, AWarningAndASuccessOfOneReasonDoNotMerge) {
  open({});
  for (const EventType type : {EventType::kNormal, EventType::kWarning}) {
    EventNote note;
    note.kind = "Pod";
    note.name = type == EventType::kWarning ? "warned" : "told";
    note.uid = "u";
    note.reason = "Preempted";
    note.type = type;
    desk_->take_in(note, clock_.mono());
  }
  EXPECT_EQ(beat(), (Words{"warned", "told"}));
}

TEST_F(EventDeskTest, WhatIsForgottenWhileItWaitsIsStillWritten) {
  open({.per_second = 1, .burst = 1, .most_waiting = 2});
  succeeds("old");
  for (int i = 0; i < 5000; ++i) {  // more than are remembered
    fails(fmt::format("w{}", i));
    ASSERT_EQ(beat_after(1s), Words{fmt::format("w{}", i)});
  }
  clock_.advance(1s);
  desk_->begin_beat(clock_.mono());
  const auto event = desk_->next(clock_.mono(), clock_.wall());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->note.name, "old");
  EXPECT_TRUE(event->is_new);
  EXPECT_EQ(event->series.count, 1);
}

TEST(EventQueueTest, TheMemoryOfTextsIsUsedAgain) {
  EventQueue queue(4);
  const auto never = [](const EventNote&) { FAIL() << "there is room"; };
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) {
      EventNote* note = queue.put(EventType::kNormal, never);
      ASSERT_NE(note, nullptr);
      if (round > 0) {
        EXPECT_GE(note->message.capacity(), 200U) << "of an earlier one";
      }
      note->message.assign(200, 'x');
    }
    while (EventNote* note = queue.take()) queue.give_back(*note);
  }
  EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace tessera::service
