#include "service/leader.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LeaderIdentity, IsTheHostToTheLetterBeforeTheLastUnderscore) {
  struct Row {
    const char* identity;
    const char* host;
    bool ours;
  };
  for (const Row& row : {Row{"sched-1_6f0c", "sched-1", true},
                         Row{"sched-10_6f0c", "sched-1", false},  // E20, a prefix is not enough
                         Row{"sched-1", "sched-1", false}, Row{"sched-1_", "sched-1", true},
                         Row{"sched-1_a_6f0c", "sched-1", false}, Row{"", "sched-1", false},
                         Row{"_6f0c", "", false}, Row{"Sched-1_6f0c", "sched-1", false}}) {
    EXPECT_EQ(is_identity_of(row.identity, row.host), row.ours) << row.identity;
  }
}

class LeadershipTest : public testing::Test {
 protected:
  LeadershipTest() {
    leader_.on_start = [this] { told_.emplace_back("start"); };
    leader_.on_stop = [this] { told_.emplace_back("stop"); };
  }
  /// The holder renews: every call writes another time.
  void renew(const std::string& holder, std::int64_t duration = 15) {
    leader_.observe(lease(holder, std::to_string(++renewals_), duration));
  }
  static k8s::Lease lease(const std::string& holder, const std::string& time,
                          std::int64_t duration = 15) {
    k8s::Lease lease;
    lease.holder = holder;
    lease.renew_time = time;
    lease.duration_seconds = duration;
    return lease;
  }

  ManualClock clock_{WallTime(seconds(1'000'000))};
  Leadership leader_{{.elect = true, .host = "h1", .ns = "kube-system", .lease = "s"}, clock_};
  std::vector<std::string> told_;
  int renewals_ = 0;
};

TEST(Leadership, WithoutElectionIsForEver) {
  ManualClock clock{WallTime(seconds(1))};
  Leadership leader({}, clock);
  EXPECT_FALSE(leader.leads());
  leader.begin();
  clock.advance(std::chrono::hours(10'000));
  EXPECT_TRUE(leader.holds(1));
  EXPECT_EQ(leader.refusal(), "");
}

TEST_F(LeadershipTest, WithElectionNobodyBeginsByHimself) {
  leader_.begin();
  EXPECT_FALSE(leader_.leads());
  EXPECT_EQ(leader_.refusal(), "not ready: Lease kube-system/s was not read yet");
  leader_.gone();
  EXPECT_EQ(leader_.refusal(), "not the leader: there is no Lease kube-system/s");
}

TEST_F(LeadershipTest, ATermBeginsWithTheFirstRenewalSeenAndEndsWithoutOne) {
  renew("h1_a");
  EXPECT_FALSE(leader_.leads()) << "it may be the Lease of a dead process";
  EXPECT_TRUE(leader_.unproven());
  renew("h1_a");
  EXPECT_TRUE(leader_.leads());
  EXPECT_FALSE(leader_.unproven());
  clock_.advance(seconds(15) - milliseconds(1));
  EXPECT_TRUE(leader_.leads());
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(leader_.leads());
  leader_.check();
  EXPECT_EQ(told_, (std::vector<std::string>{"start", "stop"}));
  EXPECT_EQ(leader_.refusal(),
            "not the leader: Lease kube-system/s is held by h1_a, this host, but is not seen to be "
            "renewed");
}

TEST_F(LeadershipTest, RenewalsKeepTheTerm) {
  renew("h1_a");
  for (int i = 0; i < 20; ++i) {
    renew("h1_a");
    clock_.advance(seconds(10));
    leader_.check();
  }
  EXPECT_TRUE(leader_.holds(1));
  EXPECT_EQ(told_, std::vector<std::string>{"start"});
}

TEST_F(LeadershipTest, S38TheSameLeaseNamedAgainIsNoRenewal) {
  renew("h1_a");
  leader_.observe(lease("h1_a", "t"));
  clock_.advance(seconds(10));
  leader_.observe(lease("h1_a", "t"));  // a list, or another field changed
  clock_.advance(seconds(6));
  EXPECT_FALSE(leader_.leads());
}

TEST_F(LeadershipTest, TakingTheLeaseOverIsARenewal) {
  renew("h2_b");
  EXPECT_FALSE(leader_.leads());
  EXPECT_EQ(leader_.refusal(), "not the leader: Lease kube-system/s is held by h2_b");
  renew("h1_a");
  EXPECT_TRUE(leader_.leads());
  renew("h2_b");
  EXPECT_FALSE(leader_.leads());
  EXPECT_EQ(told_, (std::vector<std::string>{"start", "stop"}));
}

TEST_F(LeadershipTest, ALeaseThatAppearsWhileWeLookIsARenewal) {
  leader_.gone();
  renew("h1_a");
  EXPECT_TRUE(leader_.leads());
}

TEST_F(LeadershipTest, AnotherSchedulerOfTheSameHostIsAnotherTerm) {
  renew("h1_a");
  renew("h1_a");
  const std::uint64_t first = leader_.term();
  renew("h1_b");
  EXPECT_TRUE(leader_.leads());
  EXPECT_FALSE(leader_.holds(first));
  EXPECT_EQ(told_, (std::vector<std::string>{"start", "stop", "start"}));
}

TEST_F(LeadershipTest, Case158APauseIsNotBridgedByARenewalThatWaited) {
  renew("h1_a");
  renew("h1_a");
  const std::uint64_t first = leader_.term();
  clock_.advance(seconds(60));  // stopped and continued; the event lay in the connection
  renew("h1_a");
  EXPECT_FALSE(leader_.holds(first)) << "what was begun before the pause must not be written";
  EXPECT_EQ(told_, (std::vector<std::string>{"start", "stop", "start"}));
}

TEST_F(LeadershipTest, Case156ALeaseWithoutHolderOrDurationIsNobodys) {
  renew("h1_a");
  renew("h1_a");
  renew("");
  EXPECT_FALSE(leader_.leads());
  EXPECT_EQ(leader_.refusal(), "not the leader: nobody holds Lease kube-system/s");
  renew("h1_a", 0);
  EXPECT_FALSE(leader_.leads()) << "no duration: nothing tells how long it counts";
  renew("h1_a");
  EXPECT_TRUE(leader_.leads());
  leader_.gone();
  EXPECT_FALSE(leader_.leads());
  leader_.gone();
  EXPECT_EQ(told_, (std::vector<std::string>{"start", "stop", "start", "stop"}));
}

TEST_F(LeadershipTest, AFollowerIsNotToldOfWhatItNeverHad) {
  renew("h2_b");
  leader_.gone();
  renew("h2_b");
  renew("h3_c");
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace tessera::service
