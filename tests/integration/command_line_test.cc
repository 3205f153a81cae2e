#include "apps/command_line.h"

#include <gtest/gtest.h>

namespace tessera::apps {
namespace {

using std::chrono::milliseconds;

CommandLine parse(std::vector<std::string> arguments, const std::string& program = "tessera") {
  return parse_command_line(program, std::move(arguments));
}

TEST(CommandLine, ServeTakesHamisFlagsInBothSpellings) {
  const CommandLine line = parse({"serve",
                                  "--http_bind=0.0.0.0:443",
                                  "--cert_file=/tls/tls.crt",
                                  "--key_file",
                                  "/tls/tls.key",
                                  "--scheduler-name=hami-scheduler",
                                  "--metrics-bind-address=:9395",
                                  "--node-scheduler-policy=spread",
                                  "--gpu-scheduler-policy",
                                  "binpack",
                                  "--device-config-file=/c.yaml",
                                  "--kube-qps=50",
                                  "--kube-burst=80",
                                  "--kube-timeout=7",
                                  "--node-lock-timeout=1m30s",
                                  "--node-lock-retry-timeout",
                                  "0",
                                  "--force-overwrite-default-scheduler=false",
                                  "--node-label-selector=gpu=on",
                                  "--nodes-form=live",
                                  "--write-node-label=patch",
                                  "--extender-max-body=1000",
                                  "--reservation-ttl=20s",
                                  "--kubeconfig=k"});
  ASSERT_EQ(line.command, Command::kServe) << line.message;
  const service::ServeOptions& o = line.serve;
  EXPECT_EQ(o.http_bind, "0.0.0.0:443");
  EXPECT_EQ(o.cert_file, "/tls/tls.crt");
  EXPECT_EQ(o.key_file, "/tls/tls.key");
  EXPECT_EQ(o.scheduler_name, "hami-scheduler");
  EXPECT_EQ(o.node_policy, "spread");
  EXPECT_EQ(o.device_policy, "binpack");
  EXPECT_EQ(line.device_config_file, "/c.yaml");
  EXPECT_EQ(o.kube_qps, 50);
  EXPECT_EQ(o.kube_burst, 80);
  EXPECT_EQ(o.kube_timeout, milliseconds(7000));
  EXPECT_EQ(o.node_lock_timeout, milliseconds(90'000));
  EXPECT_EQ(o.node_lock_retry_timeout, milliseconds(0));
  EXPECT_FALSE(o.force_overwrite_default_scheduler);
  EXPECT_EQ(o.node_label_selector, "gpu=on");
  EXPECT_EQ(o.nodes_form, "live");
  EXPECT_TRUE(o.write_node_label_by_patch);
  EXPECT_EQ(o.extender_max_body, 1000U);
  EXPECT_EQ(o.reservation_ttl, milliseconds(20'000));
  EXPECT_EQ(line.kubeconfig, "k");
}

TEST(CommandLine, DefaultsAreThoseOfTheDecisions) {
  const CommandLine line = parse({"serve"});
  ASSERT_EQ(line.command, Command::kServe);
  EXPECT_EQ(line.serve.kube_qps, 200);
  EXPECT_EQ(line.serve.kube_burst, 400);
  EXPECT_EQ(line.serve.node_lock_retry_timeout, milliseconds(28'000));
  EXPECT_EQ(line.serve.node_lock_timeout, milliseconds(300'000));
  EXPECT_EQ(line.serve.reservation_ttl, milliseconds(600'000));
  EXPECT_TRUE(line.serve.force_overwrite_default_scheduler);
}

TEST(CommandLine, EveryFlagOfHamisTableIsAccepted) {
  const CommandLine line = parse({"serve",
                                  "--debug",
                                  "--enable-ascend=true",
                                  "--enable-iluvatar",
                                  "--profiling",
                                  "--leader-elect",
                                  "--leader-elect-resource-name=x",
                                  "--leader-elect-resource-namespace=y",
                                  "--legacy-metrics=false",
                                  "--metax-name=a",
                                  "--metax-vcount=a",
                                  "--metax-vcore=a",
                                  "--metax-vmemory=a",
                                  "--sgpu-topology-aware=false",
                                  "--mthreads-name=a",
                                  "--mthreads-memory=a",
                                  "--mthreads-cores=a",
                                  "--cambricon-mlu-name=a",
                                  "--cambricon-mlu-memory=a",
                                  "--cambricon-mlu-cores=a",
                                  "--dcu-name=a",
                                  "--dcu-memory=a",
                                  "--dcu-cores=a",
                                  "--kunlun-name=a",
                                  "--kunlun-vcount=a",
                                  "--kunlun-vmemory=a",
                                  "--enflame-gcu-resource-name=a",
                                  "--enflame-drs-gcu-resource-name=a",
                                  "--enflame-vgcu-resource-name=a",
                                  "--enflame-gcu-memory-resource-name=a",
                                  "--enflame-gcu-core-resource-name=a",
                                  "--enflame-vgcu-legacy-resource-name=a",
                                  "--enflame-vgcu-percentage-resource-name=a",
                                  "--vmodule=",
                                  "--logtostderr=true",
                                  "--alsologtostderr",
                                  "--log_dir=",
                                  "--log_file=",
                                  "--log_file_max_size=1800",
                                  "--add_dir_header",
                                  "--skip_headers",
                                  "--skip_log_headers",
                                  "--one_output",
                                  "--stderrthreshold=2",
                                  "--alsologtostderrthreshold=0",
                                  "--legacy_stderr_threshold_behavior=true",
                                  "--log_backtrace_at=:0"});
  ASSERT_EQ(line.command, Command::kServe) << line.message;
  EXPECT_EQ(line.without_effect, std::vector<std::string>{"--leader-elect"})
      << "what would change the program's behaviour is named";
}

TEST(CommandLine, VerbosityInAllOfGosSpellings) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-v=4"}, {"-v", "4"}, {"--v=4"}, {"-v4"}}) {
    std::vector<std::string> arguments = {"serve"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const CommandLine line = parse(arguments);
    EXPECT_EQ(line.command, Command::kServe) << line.message;
    EXPECT_EQ(line.verbosity, 4) << words[0];
  }
}

TEST(CommandLine, AProgramCalledSchedulerServes) {
  EXPECT_EQ(parse({"--http_bind=:1"}, "/usr/bin/scheduler").command, Command::kServe);
  EXPECT_EQ(parse({}, "scheduler").command, Command::kServe);
  EXPECT_EQ(parse({"version"}, "scheduler").command, Command::kVersion);
}

struct WrongRow {
  std::vector<std::string> arguments;
  const char* part;
};
TEST(CommandLine, WhatIsWrongIsNamedAboveTheUsage) {
  const WrongRow rows[] = {{{"serve", "--no-such-flag"}, "--no-such-flag"},
                           {{"serve", "--scheduler_name=x"}, "--scheduler_name"},
                           {{"serve", "--node-lock-timeout=30"}, "--node-lock-timeout"},
                           {{"serve", "--kube-qps=fast"}, "--kube-qps"},
                           {{"serve", "--write-node-label=never"}, "binding, patch"},
                           {{"demo", "--nodes=0"}, "--nodes"},
                           {{"check-config"}, "FILE"},
                           {{}, "subcommand"}};
  for (const WrongRow& row : rows) {
    const CommandLine line = parse(row.arguments);
    EXPECT_EQ(line.command, Command::kExit) << row.part;
    EXPECT_NE(line.exit_code, 0) << row.part;
    EXPECT_NE(line.message.find(row.part), std::string::npos) << line.message;
    EXPECT_NE(line.message.find("Usage"), std::string::npos) << row.part;
  }
}

TEST(CommandLine, HelpIsNoFault) {
  const CommandLine line = parse({"serve", "--help"});
  EXPECT_EQ(line.exit_code, 0);
  EXPECT_NE(line.message.find("--http_bind"), std::string::npos);
  EXPECT_EQ(line.message.find("--metax-name"), std::string::npos)
      << "flags without effect are not shown";
}

TEST(CommandLine, DemoAndCheckConfig) {
  const CommandLine demo = parse({"demo", "--nodes", "3", "--devices=2", "--rate=12.5", "--for=10s",
                                  "--trace=t.csv", "--port=0", "--kubeconfig-out=k"});
  ASSERT_EQ(demo.command, Command::kDemo) << demo.message;
  EXPECT_EQ(demo.demo.nodes, 3);
  EXPECT_EQ(demo.demo.devices, 2);
  EXPECT_EQ(demo.demo.rate, 12.5);
  EXPECT_EQ(demo.demo.duration, milliseconds(10'000));
  EXPECT_EQ(demo.demo.trace_file, "t.csv");
  EXPECT_EQ(demo.demo.port, 0);
  EXPECT_EQ(demo.demo.kubeconfig_out, "k");
  EXPECT_EQ(parse({"check-config", "f.yaml"}).config_file, "f.yaml");
  EXPECT_EQ(parse({"version"}).command, Command::kVersion);
}

}  // namespace
}  // namespace tessera::apps
