#include "service/handshake.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vendors/handshake.h"

namespace tessera::service {
namespace {

using std::chrono::seconds;

constexpr const char* kKey = "example.com/handshake";

/// One node with one vendor, as its watch shows it.
class HandshakeHealthTest : public testing::Test {
 protected:
  /// Whether the devices are offered after this picture of the node.
  bool offered(bool allocatable, std::optional<std::string> text, bool must_report = true) {
    NodeFact fact;
    fact.name = "n1";
    fact.uid = uid_;
    fact.spec.offered = {allocatable};
    fact.handshakes = {
        {.vendor = VendorId{0}, .key = kKey, .must_report = must_report, .text = std::move(text)}};
    health_.judge(fact);
    return fact.spec.offered[0];
  }
  HandshakeHealth health_;
  std::string uid_ = "uid-1";
};

TEST_F(HandshakeHealthTest, S16AtFirstSightOnlyAllocatableCounts) {
  for (const char* text : {"Requesting_2026-01-01 00:00:00", "Deleted_2026-08-01 00:00:00",
                           "Requesting", "Requesting_garbage", "", "Reported 2026-01-01"}) {
    health_ = {};
    EXPECT_TRUE(offered(true, text)) << text;
  }
  EXPECT_TRUE(offered(true, std::nullopt));
  EXPECT_EQ(health_.waiting(), 0U);
}

TEST_F(HandshakeHealthTest, AfterALossAReportIsNeededThatIsNewer) {
  EXPECT_TRUE(offered(true, "Reported 1"));
  EXPECT_FALSE(offered(false, "Reported 1"));
  EXPECT_FALSE(offered(true, "Reported 1")) << "kubelet lists them again, the agent is not there";
  EXPECT_FALSE(offered(true, "Requesting_2026-08-21 08:00:00")) << "a scheduler's text is none";
  EXPECT_EQ(health_.waiting(), 1U);
  EXPECT_TRUE(offered(true, "Reported 2"));
  EXPECT_EQ(health_.waiting(), 0U);
  EXPECT_TRUE(offered(true, "Requesting_2026-08-21 08:00:30"));
}

TEST_F(HandshakeHealthTest, AReportDuringTheLossCountsOnceTheDevicesAreBack) {
  EXPECT_FALSE(offered(false, "Reported 1"));
  EXPECT_FALSE(offered(false, "Reported 2"));
  EXPECT_FALSE(offered(false, "Requesting_2026-08-21 08:00:00"));
  EXPECT_TRUE(offered(true, "Requesting_2026-08-21 08:00:00"));
}

TEST_F(HandshakeHealthTest, AgentsThatWriteNoHandshakeAreAdmittedAtOnce) {
  EXPECT_TRUE(offered(true, "Requesting_2026-08-21 08:00:00", false));
  EXPECT_FALSE(offered(false, "Requesting_2026-08-21 08:00:00", false));
  EXPECT_TRUE(offered(true, "Requesting_2026-08-21 08:00:00", false));
}

TEST_F(HandshakeHealthTest, ANodeThatIsMadeAnewHasLostNothing) {
  EXPECT_FALSE(offered(false, "Reported 1"));
  uid_ = "uid-2";
  EXPECT_TRUE(offered(true, "Reported 1"));
  EXPECT_FALSE(offered(false, "Reported 1"));
  health_.forget("n1");
  EXPECT_TRUE(offered(true, "Reported 1"));
}

/// E19: the agent of a node dies, its devices stay unallocatable, schedulers of the old kind write
/// and remove their marks around it. HAMi offered them again for 60 of every 75 seconds.
TEST_F(HandshakeHealthTest, S15ADeadNodeDoesNotFlap) {
  for (const bool must_report : {true, false}) {
    health_ = {};
    EXPECT_TRUE(offered(true, "Requesting_2026-08-21 08:00:00", must_report));
    std::vector<bool> seen;
    for (int second = 0; second < 600; second += 15) {
      std::optional<std::string> text;  // removed by a clean-up
      if (second % 75 != 0) {
        text = vendors::format_requesting(WallTime(seconds(1'787'000'000 + second)));
      }
      seen.push_back(offered(false, text, must_report));
    }
    EXPECT_EQ(seen, std::vector<bool>(seen.size(), false)) << must_report;
  }
}

}  // namespace
}  // namespace tessera::service
