// The priority label on its way from a node object into the books.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "service/books.h"
#include "service/facts.h"
#include "service/serve_check.h"

namespace tessera::service {
namespace {

class LabelFactTest : public testing::Test {
 protected:
  static FactReader reader(const std::string& label) {
    ServeOptions options;
    options.priority_label = label;
    Result<ServePlan> plan = check_options(options);
    return FactReader(std::make_shared<vendors::Vendors>(std::move(plan->vendors)),
                      std::move(plan->defaults));
  }
  static NodeFact read(const FactReader& reader, const std::string& labels,
                       const std::string& version = "1") {
    json::Parser parser;
    const auto object = parser.parse(R"({"metadata":{"name":"n1","uid":"u","resourceVersion":")" +
                                     version + R"(","labels":)" + labels + "}}");
    return *reader.read_node(*object);
  }
};

TEST_F(LabelFactTest, TheDecoderKeepsTheLabelThatTheFlagNames) {
  const FactReader usual = reader("priority.lixueduan.com"), other = reader("example.com/rank");
  const std::string labels = R"({"priority.lixueduan.com":"7","example.com/rank":"8"})";
  EXPECT_EQ(read(usual, labels).spec.label_priority, 7);
  EXPECT_EQ(read(other, labels).spec.label_priority, 8);
  EXPECT_EQ(read(usual, "{}").spec.label_priority, 0);
  EXPECT_EQ(read(usual, "{}").label_problem, "");
  const NodeFact bad = read(usual, R"({"priority.lixueduan.com":"high"})");
  EXPECT_EQ(bad.spec.label_priority, 0);
  EXPECT_EQ(bad.label_problem, "\"high\" is not a whole number of 64 bits; it counts as 0");
}

TEST_F(LabelFactTest, TheBooksTakeAChangeOverAndTellAProblemOnce) {
  const FactReader usual = reader("priority.lixueduan.com");
  SystemClock clock;
  obs::Metrics metrics;
  Books books(usual.vendors().rules(), clock, std::chrono::minutes(10), metrics);
  const auto label = [&] {
    const core::Cluster& cluster = books.cluster();
    return cluster.node(cluster.find_node("n1")).spec.label_priority;
  };
  const auto told = [&] {
    return metrics.render().find("tessera_priority_label_problems_total 1\n") != std::string::npos;
  };
  books.apply(read(usual, R"({"priority.lixueduan.com":"7"})", "1"));
  EXPECT_EQ(label(), 7);
  books.apply(read(usual, R"({"priority.lixueduan.com":"9"})", "2"));
  EXPECT_EQ(label(), 9) << "nothing but the label has changed";
  EXPECT_FALSE(told());
  books.apply(read(usual, R"({"priority.lixueduan.com":"high"})", "3"));
  books.apply(read(usual, R"({"priority.lixueduan.com":"high"})", "4"));
  EXPECT_EQ(label(), 0);
  EXPECT_TRUE(told());
}

}  // namespace
}  // namespace tessera::service
