// The flags of `tessera label-priority`, and those of `tessera serve` about the same label.
#include <gtest/gtest.h>

#include "apps/command_line.h"

namespace tessera::apps {
namespace {

using std::chrono::milliseconds;

CommandLine parse(std::vector<std::string> arguments) {
  return parse_command_line("tessera", std::move(arguments));
}

TEST(LabelCommandLine, Defaults) {
  const CommandLine line = parse({"label-priority"});
  ASSERT_EQ(line.command, Command::kLabelPriority) << line.message;
  const label_priority::Options& o = line.label_priority;
  EXPECT_EQ(o.listen, "127.0.0.1:8080");
  EXPECT_EQ(o.metrics_bind, "");
  EXPECT_EQ(o.rules.label, "priority.lixueduan.com");
  EXPECT_TRUE(o.rules.label_required);
  EXPECT_EQ(o.scores, "raw");
  EXPECT_EQ(o.rules.weight, 1);
  EXPECT_FALSE(o.rules.compat);
  EXPECT_TRUE(o.bind);
}

TEST(LabelCommandLine, EveryFlag) {
  const CommandLine line = parse({"label-priority",
                                  "--listen",
                                  ":8081",
                                  "--metrics-bind-address=:9395",
                                  "--label=a.b/c",
                                  "--label-required=false",
                                  "--scores=normalised",
                                  "--weight=5",
                                  "--bind=false",
                                  "--cert_file=c",
                                  "--key_file=k",
                                  "--kubeconfig=f",
                                  "--max-body=100",
                                  "--max-connections=7",
                                  "--http-threads=2",
                                  "--request-timeout=5s",
                                  "--bind-timeout=1500ms",
                                  "--kube-qps=9",
                                  "--kube-burst=11",
                                  "-v=4"});
  ASSERT_EQ(line.command, Command::kLabelPriority) << line.message;
  const label_priority::Options& o = line.label_priority;
  EXPECT_EQ(o.listen, ":8081");
  EXPECT_EQ(o.metrics_bind, ":9395");
  EXPECT_EQ(o.rules.label, "a.b/c");
  EXPECT_FALSE(o.rules.label_required);
  EXPECT_EQ(o.scores, "normalised");
  EXPECT_EQ(o.rules.weight, 5);
  EXPECT_FALSE(o.bind);
  EXPECT_EQ(o.cert_file, "c");
  EXPECT_EQ(o.key_file, "k");
  EXPECT_EQ(line.kubeconfig, "f");
  EXPECT_EQ(o.max_body, 100U);
  EXPECT_EQ(o.max_connections, 7U);
  EXPECT_EQ(o.http_threads, 2);
  EXPECT_EQ(o.request_timeout, milliseconds(5000));
  EXPECT_EQ(o.bind_timeout, milliseconds(1500));
  EXPECT_EQ(o.kube_qps, 9);
  EXPECT_EQ(o.kube_burst, 11);
  EXPECT_EQ(line.verbosity, 4);
  EXPECT_TRUE(parse({"label-priority", "--compat"}).label_priority.rules.compat);
  EXPECT_TRUE(
      parse({"label-priority", "--label-required=true"}).label_priority.rules.label_required);
  EXPECT_EQ(parse({"label-priority", "--weight=much"}).exit_code, 255);
  EXPECT_EQ(parse({"label-priority", "--max-body=0"}).exit_code, 255);
}

TEST(LabelCommandLine, ServeReadsTheLabelForItsNodePolicy) {
  const CommandLine line =
      parse({"serve", "--node-scheduler-policy=label-priority,spread", "--priority-label=a.b/c"});
  ASSERT_EQ(line.command, Command::kServe) << line.message;
  EXPECT_EQ(line.serve.node_policy, "label-priority,spread");
  EXPECT_EQ(line.serve.priority_label, "a.b/c");
  EXPECT_EQ(parse({"serve"}).serve.priority_label, "priority.lixueduan.com");
}

}  // namespace
}  // namespace tessera::apps
