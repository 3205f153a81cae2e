// Counters of decisions, and that every metric stands in docs/metrics.md.
#include "service/measures.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace tessera::service {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_metric_name(std::string_view text) {
  const bool ours =
      text.starts_with("tessera_") || text.starts_with("process_") || text.starts_with("hami_");
  return ours && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == text.npos &&
         !text.ends_with('_');  // a prefix is no name
}

/// Every quoted metric name of a source.
void add_names(std::string_view text, std::set<std::string>& names) {
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 1)) {
    const std::size_t end = text.find('"', at + 1);
    if (end == text.npos) return;
    const std::string_view quoted = text.substr(at + 1, end - at - 1);
    if (is_metric_name(quoted)) names.emplace(quoted);
  }
}

std::set<std::string> names_in_sources() {
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TESSERA_SOURCE_DIR "/src")) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".cc" || file.find("_test") != std::string::npos) continue;
    const std::string module = entry.path().parent_path().filename().string();
    if (module == "sim" || module == "apps") continue;
    add_names(read_file(entry.path()), names);
  }
  return names;
}

TEST(Metrics, EveryOneStandsInTheDocumentation) {
  const std::string docs = read_file(TESSERA_SOURCE_DIR "/docs/metrics.md");
  const std::set<std::string> names = names_in_sources();
  ASSERT_GT(names.size(), 40U);
  for (const std::string& name : names) {
    EXPECT_NE(docs.find("`" + name + "`"), std::string::npos) << name;
  }
}

class MeasuresTest : public testing::Test {
 protected:
  bool has(const std::string& line) const {
    return ("\n" + metrics_.render()).find("\n" + line + "\n") != std::string::npos;
  }
  obs::Metrics metrics_;
  Measures measures_{metrics_};
};

TEST_F(MeasuresTest, Case166DecisionsAreCountedByResultAndVendorRefusalsByReason) {
  for (int i = 0; i < 70; ++i) measures_.count_attempt(true, "A");
  for (int i = 0; i < 30; ++i) {
    measures_.count_attempt(false, "A+B");
    core::Reject reject;
    reject.count(core::CardReason::kInsufficientMemory) = 3;
    measures_.count_reject(reject);
  }
  EXPECT_TRUE(has(R"(tessera_schedule_attempts_total{result="scheduled",vendor="A"} 70)"));
  EXPECT_TRUE(has(R"(tessera_schedule_attempts_total{result="unschedulable",vendor="A+B"} 30)"));
  EXPECT_TRUE(has(R"(tessera_node_reject_total{reason="CardInsufficientMemory"} 30)"));
  EXPECT_TRUE(has(R"(tessera_node_reject_total{reason="NodeUnregistered"} 0)"));
  EXPECT_TRUE(has("tessera_reservations_rolled_back_total 0"));
}

TEST_F(MeasuresTest, CallsAreTimedByVerbAndMeaning) {
  measures_.answered(Verb::kFilter, 200, 0.001);
  measures_.answered(Verb::kWebhook, 403, 0.001);
  measures_.answered(Verb::kBind, 599, 0.001);  // a code without a row is an Error
  const std::string count = "tessera_extender_request_duration_seconds_count";
  EXPECT_TRUE(has(count + R"({code="200",verb="filter"} 1)"));
  EXPECT_TRUE(has(count + R"({code="403",verb="webhook"} 1)"));
  EXPECT_TRUE(has(count + R"({code="500",verb="bind"} 1)"));
  EXPECT_TRUE(has(count + R"({code="200",verb="bind"} 0)"));
}

TEST_F(MeasuresTest, LocksPutAsideAreExpiredOrDangling) {
  measures_.count_stale_lock("expired");
  measures_.count_stale_lock("owner missing");
  measures_.count_stale_lock("malformed");
  EXPECT_TRUE(has("tessera_node_lock_expired_total 1"));
  EXPECT_TRUE(has("tessera_node_lock_dangling_total 2"));
  EXPECT_TRUE(has(R"(tessera_node_lock_stale_total{reason="malformed"} 1)"));
}

TEST_F(MeasuresTest, ReviewsAreCountedByOutcome) {
  measures_.count_webhook(WebhookResult::kDenied);
  EXPECT_TRUE(has(R"(tessera_webhook_requests_total{result="denied"} 1)"));
  EXPECT_TRUE(has(R"(tessera_webhook_requests_total{result="mutated"} 0)"));
}

}  // namespace
}  // namespace tessera::service
