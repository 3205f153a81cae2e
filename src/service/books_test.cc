#include "service/books.h"

#include <gtest/gtest.h>

namespace tessera::service {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class BooksTest : public testing::Test {
 protected:
  BooksTest() {
    books_.on_pod_change = [this](const PodRecord& pod) { changed_pods_.push_back(pod.fact.uid); };
    books_.apply(node("n1", 10));
  }

  static NodeFact node(const std::string& name, std::uint64_t version,
                       std::optional<std::string> lock = {}) {
    NodeFact fact;
    fact.name = name;
    fact.uid = "uid-" + name;
    fact.version = version;
    fact.resource_version = std::to_string(version);
    fact.lock = std::move(lock);
    fact.spec.name = name;
    core::Device device;
    device.id = name + "-card0";
    device.slots = 4;
    device.memory = MiB{1000};
    device.cores = CorePercent{100};
    device.healthy = true;
    device.vendor = VendorId{0};
    fact.spec.devices = {device};
    fact.spec.offered = {true};
    return fact;
  }

  static core::Allocation allocation(const std::string& node, std::int64_t memory) {
    core::Allocation a;
    a.node = node;
    a.kinds = {core::PositionKind::kApp};
    a.grants = {{0, VendorId{0}, node + "-card0", MiB{memory}, CorePercent{0}}};
    return a;
  }

  static PodFact pod(const std::string& uid, std::uint64_t version) {
    PodFact fact;
    fact.ns = "default";
    fact.name = "pod-" + uid;
    fact.uid = uid;
    fact.version = version;
    fact.asks_devices = true;
    return fact;
  }

  static PodFact bound_pod(const std::string& uid, std::uint64_t version, const std::string& node,
                           std::int64_t memory) {
    PodFact fact = pod(uid, version);
    fact.node = node;
    fact.annotated_node = node;
    fact.allocation = allocation(node, memory);
    return fact;
  }

  PodRecord& reserve(const std::string& uid, std::int64_t memory) {
    PodRecord& record = books_.note_pod("default", "pod-" + uid, uid);
    EXPECT_TRUE(books_.reserve(record, allocation("n1", memory)));
    return record;
  }

  std::int64_t used(const std::string& name = "n1") {
    EXPECT_TRUE(books_.cluster().differences(books_.cluster().rebuild()).empty());
    return books_.cluster().node(books_.cluster().find_node(name)).used.at(0).memory.v;
  }

  ManualClock clock_{WallTime(std::chrono::seconds(1'000'000))};
  obs::Metrics metrics_;
  Books books_{{core::VendorRules{}}, clock_, minutes(10), metrics_};
  std::vector<std::string> changed_pods_;
};

TEST_F(BooksTest, ABoundPodCountsFromItsAnnotationsUntilItEnds) {
  books_.apply(bound_pod("a", 5, "n1", 300));
  EXPECT_EQ(used(), 300);
  PodFact finished = bound_pod("a", 6, "n1", 300);
  finished.finished = true;
  books_.apply(std::move(finished));
  EXPECT_EQ(used(), 0);
  EXPECT_TRUE(books_.pod("a")->fact.finished);
}

TEST_F(BooksTest, ATentativeReservationIsShortAndABindMakesItAWholeOne) {
  for (const char* uid : {"guess", "bound-soon"}) {
    PodRecord& record = books_.note_pod("default", std::string("pod-") + uid, uid);
    ASSERT_TRUE(books_.reserve_tentatively(record, allocation("n1", 300)));
  }
  books_.extend_reservation("bound-soon", seconds(0));
  clock_.advance(seconds(29));
  books_.expire_reservations();
  EXPECT_EQ(used(), 600);
  clock_.advance(seconds(2));
  books_.expire_reservations();
  EXPECT_EQ(used(), 300) << "30 s are over";
  clock_.advance(minutes(10));
  books_.expire_reservations();
  EXPECT_EQ(used(), 0);
}

TEST_F(BooksTest, NothingExpiresWhileTheBindIsHere) {
  reserve("a", 300).stage = BindStage::kActive;
  reserve("b", 300).stage = BindStage::kQueued;
  clock_.advance(minutes(11));
  books_.expire_reservations();
  EXPECT_EQ(used(), 600);
  for (const char* uid : {"a", "b"}) books_.pod(uid)->stage = BindStage::kNone;
  books_.expire_reservations();
  EXPECT_EQ(used(), 0);
}

TEST_F(BooksTest, ATerminatingPodCountsUntilItIsGone) {
  PodFact fact = bound_pod("a", 5, "n1", 300);
  fact.terminating = true;
  books_.apply(std::move(fact));
  EXPECT_EQ(used(), 300);
  books_.remove_pod("a");
  EXPECT_EQ(used(), 0);
  EXPECT_TRUE(books_.deleted_recently("a"));
}

TEST_F(BooksTest, AnOlderPictureOfAPodIsDropped) {
  books_.apply(bound_pod("a", 9, "n1", 300));
  books_.apply(pod("a", 8));
  EXPECT_EQ(used(), 300);
  EXPECT_EQ(books_.pod("a")->fact.node, "n1");
}

TEST_F(BooksTest, WhatComesAfterADeletionOfThatUidIsDropped) {
  books_.apply(bound_pod("a", 5, "n1", 300));
  books_.remove_pod("a");
  books_.apply(bound_pod("a", 6, "n1", 300));
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(books_.pod("a"), nullptr);
}

TEST_F(BooksTest, OurBindingIsNotUndoneByAPictureFromBefore) {
  reserve("a", 300);
  EXPECT_TRUE(books_.bound("a", "n1"));
  books_.apply(pod("a", 3));
  EXPECT_EQ(books_.pod("a")->fact.node, "n1");
  EXPECT_EQ(used(), 300);
  EXPECT_EQ(books_.reservation_count(), 0U);
  EXPECT_EQ(books_.cluster().hold({"a"})->state, core::HoldState::kBound);
  clock_.advance(minutes(20));
  books_.expire_reservations();
  EXPECT_EQ(used(), 300) << "what is bound does not expire";
}

TEST_F(BooksTest, ABindingOfAPodThatIsGoneConfirmsNothing) {
  reserve("a", 300);
  books_.remove_pod("a");
  EXPECT_FALSE(books_.bound("a", "n1"));
  EXPECT_EQ(used(), 0);
}

TEST_F(BooksTest, ABindingElsewhereWithoutAnnotationsEndsTheReservation) {
  reserve("a", 300);
  PodFact fact = pod("a", 5);
  fact.node = "n2";
  books_.apply(std::move(fact));
  EXPECT_EQ(used(), 0);
}

TEST_F(BooksTest, ABindingWithUnreadableAnnotationsKeepsWhatWasReservedThere) {
  reserve("a", 300);
  PodFact fact = pod("a", 5);
  fact.node = "n1";
  fact.problem = "bad";
  books_.apply(std::move(fact));
  EXPECT_EQ(used(), 300);
  EXPECT_EQ(books_.reservation_count(), 0U);
}

TEST_F(BooksTest, ReservationsExpireUnlessTheyAreExtended) {
  reserve("a", 300);
  reserve("b", 200);
  books_.extend_reservation("b", minutes(5));
  clock_.advance(minutes(11));
  books_.expire_reservations();
  EXPECT_EQ(used(), 200);
  clock_.advance(minutes(5));
  books_.expire_reservations();
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(books_.reservation_count(), 0U);
}

struct ConditionRow {
  const char* name;
  seconds after_reservation;
  BindStage stage;
  bool ends;
};
TEST_F(BooksTest, AnUnschedulableConditionEndsOnlyTheReservationThatIsOlder) {
  for (const ConditionRow& row :
       {ConditionRow{"newer", seconds(5), BindStage::kNone, true},
        ConditionRow{"older", seconds(-5), BindStage::kNone, false},
        ConditionRow{"newer, but its bind waits", seconds(5), BindStage::kQueued, false}}) {
    const std::string uid = row.name;
    reserve(uid, 100).stage = row.stage;
    PodFact fact = pod(uid, 5);
    fact.unschedulable_since = clock_.wall() + row.after_reservation;
    books_.apply(std::move(fact));
    EXPECT_EQ(books_.cluster().hold({uid}) == nullptr, row.ends) << row.name;
    books_.remove_pod(uid);
  }
}

TEST_F(BooksTest, TheSameConditionSeenAgainEndsNothing) {
  PodFact fact = pod("a", 5);
  fact.unschedulable_since = clock_.wall() + seconds(30);
  books_.apply(std::move(fact));
  reserve("a", 100);
  fact = pod("a", 6);
  fact.unschedulable_since = clock_.wall() + seconds(30);
  books_.apply(std::move(fact));
  EXPECT_EQ(used(), 100)
      << "the condition was there before the reservation, whatever the clocks say";
}

TEST_F(BooksTest, AListEndsWhatItDoesNotNameUnlessThatIsYounger) {
  books_.apply(bound_pod("named", 5, "n1", 100));
  books_.apply(bound_pod("gone", 6, "n1", 200));
  reserve("never-seen", 300);
  clock_.advance(seconds(1));
  const MonoTime begin = clock_.mono();
  clock_.advance(seconds(1));
  reserve("younger", 50);
  books_.pods_listed({"named"}, begin);
  EXPECT_EQ(used(), 150);
}

TEST_F(BooksTest, InitContainersCountUntilTheyAreDone) {
  PodFact fact = bound_pod("a", 5, "n1", 100);
  fact.allocation->kinds = {core::PositionKind::kInit, core::PositionKind::kApp};
  fact.allocation->grants = {{0, VendorId{0}, "n1-card0", MiB{900}, {}},
                             {1, VendorId{0}, "n1-card0", MiB{100}, {}}};
  PodFact later = fact;
  books_.apply(std::move(fact));
  EXPECT_EQ(used(), 900);
  later.version = 6;
  later.init_finished = true;
  later.allocation->init_finished = true;
  books_.apply(std::move(later));
  EXPECT_EQ(used(), 100);
}

TEST_F(BooksTest, APodThatAsksForNothingIsNotKept) {
  PodFact fact = bound_pod("a", 5, "n1", 100);
  fact.asks_devices = false;
  books_.apply(std::move(fact));
  EXPECT_EQ(books_.pod("a"), nullptr);
  EXPECT_EQ(used(), 0);
}

TEST_F(BooksTest, ANewPodOfTheSameNameTakesTheNameNotTheBooks) {
  PodFact first = bound_pod("one", 5, "n1", 100), second = pod("two", 7);
  second.name = first.name;
  const std::string name = first.name;
  books_.apply(std::move(first));
  books_.apply(std::move(second));
  EXPECT_EQ(books_.pod_by_name("default", name)->fact.uid, "two");
  EXPECT_EQ(used(), 100);
  books_.remove_pod("one");
  EXPECT_EQ(books_.pod_by_name("default", name)->fact.uid, "two");
}

TEST_F(BooksTest, NodesFollowTheHighestVersionAndTheirLock) {
  books_.apply(node("n1", 12, "2026-08-21T08:00:00Z,a,b"));
  EXPECT_TRUE(books_.locked_nodes().contains("n1"));
  EXPECT_TRUE(books_.cluster().node(books_.node("n1")->id).spec.locked);
  books_.apply(node("n1", 11));
  EXPECT_TRUE(books_.node("n1")->fact.lock) << "an older picture";
  books_.apply(node("n1", 13));
  EXPECT_FALSE(books_.node("n1")->fact.lock);
  EXPECT_FALSE(books_.locked_nodes().contains("n1"));
}

TEST_F(BooksTest, AListThatBeganLaterWinsEvenWithALowerVersion) {
  clock_.advance(seconds(1));
  books_.apply(node("n1", 3, "x"), clock_.mono());
  EXPECT_EQ(books_.node("n1")->fact.version, 3U) << "the server's history was set back";
}

TEST_F(BooksTest, ADeletionOfAnEarlierNodeOfThatNameIsDropped) {
  books_.remove_node("n1", 9);
  EXPECT_NE(books_.node("n1"), nullptr);
  books_.remove_node("n1", 11);
  EXPECT_EQ(books_.node("n1"), nullptr);
  clock_.advance(seconds(1));
  books_.apply(node("n2", 20));
  clock_.advance(seconds(1));
  books_.nodes_listed({}, clock_.mono());
  EXPECT_EQ(books_.node("n2"), nullptr);
}

TEST_F(BooksTest, AHeartbeatThatChangesNoDeviceChangesNoVersion) {
  const std::uint64_t before = books_.cluster().node(books_.node("n1")->id).version;
  books_.apply(node("n1", 14));
  EXPECT_EQ(books_.cluster().node(books_.node("n1")->id).version, before)
      << "cached verdicts stay good";
}

TEST_F(BooksTest, TheListenerHearsOfEveryPod) {
  books_.apply(bound_pod("a", 5, "n1", 100));
  books_.remove_pod("a");
  EXPECT_EQ(changed_pods_, (std::vector<std::string>{"a", "a"}));
}

}  // namespace
}  // namespace tessera::service
