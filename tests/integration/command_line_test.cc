#include "apps/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/manifest.h"

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
                                  "--score-mode=hami",
                                  "--enable-ascend",
                                  "--enable-iluvatar=true",
                                  "--leader-elect",
                                  "--leader-elect-resource-name=l",
                                  "--leader-elect-resource-namespace=ns",
                                  "--leader-elect-host=h",
                                  "--prefer-unlocked-nodes=false",
                                  "--wake-up-pending=false",
                                  "--self-check-interval=5m",
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
  EXPECT_EQ(o.score_mode, "hami");
  EXPECT_TRUE(o.vendor_switches.ascend);
  EXPECT_TRUE(o.vendor_switches.iluvatar);
  EXPECT_TRUE(o.leader_elect);
  EXPECT_EQ(o.leader_elect_name, "l");
  EXPECT_EQ(o.leader_elect_namespace, "ns");
  EXPECT_EQ(o.leader_elect_host, "h");
  EXPECT_FALSE(o.prefer_unlocked_nodes);
  EXPECT_FALSE(o.wake_up_pending);
  EXPECT_EQ(o.self_check_interval, milliseconds(300'000));
  EXPECT_TRUE(line.lock_timeout_given);
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
  EXPECT_EQ(line.serve.score_mode, "corrected");
  EXPECT_FALSE(line.serve.vendor_switches.ascend);
  EXPECT_TRUE(line.serve.wake_up_pending);
  EXPECT_TRUE(line.serve.prefer_unlocked_nodes);
  EXPECT_EQ(line.serve.self_check_interval, milliseconds(60'000));
  EXPECT_FALSE(line.lock_timeout_given);
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
                                  "--log_file=/var/log/x",
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
  // What does something is not warned about, what does nothing is.
  const auto warned = [&](const std::string& flag) {
    return std::find(line.without_effect.begin(), line.without_effect.end(), flag) !=
           line.without_effect.end();
  };
  for (const char* flag : {"--debug", "--profiling", "--metax-name", "--kunlun-vmemory",
                           "--enflame-vgcu-percentage-resource-name", "--log_file", "--one_output"})
    EXPECT_TRUE(warned(flag)) << flag;
  for (const char* flag : {"--enable-ascend", "--enable-iluvatar", "--leader-elect",
                           "--leader-elect-resource-name", "--legacy-metrics"})
    EXPECT_FALSE(warned(flag)) << flag;
}

TEST(CommandLine, AnEmptyValueIsAValue) {
  const CommandLine line = parse({"serve", "--metrics-bind-address=", "--scheduler-name=",
                                  "--node-label-selector=", "--log_dir=", "--http_bind=:1"});
  ASSERT_EQ(line.command, Command::kServe) << line.message;
  EXPECT_EQ(line.serve.metrics_bind, "");
  EXPECT_EQ(line.serve.scheduler_name, "");
  EXPECT_EQ(line.serve.http_bind, ":1");
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
  EXPECT_TRUE(parse({"version"}, "/scheduler").as_scheduler);
  EXPECT_FALSE(parse({"version"}, "/usr/bin/tessera").as_scheduler);
  EXPECT_EQ(parse({"--http_bind=:1"}, "/usr/bin/tessera").command, Command::kExit);
}

struct WrongRow {
  std::vector<std::string> arguments;
  const char* part;
};
TEST(CommandLine, WhatIsWrongIsNamedAboveTheUsage) {
  const WrongRow rows[] = {
      {{"serve", "--no-such-flag"}, "--no-such-flag"},
      {{"serve", "--scheduler_name=x"}, "--scheduler_name"},
      {{"serve", "--node-lock-timeout=30"}, "--node-lock-timeout"},
      {{"serve", "--kube-qps=fast"}, "--kube-qps"},
      {{"serve", "--write-node-label=never"}, "binding, patch"},
      {{"demo", "--nodes=0"}, "--nodes"},
      {{"check-config"}, "FILE or --scheduler-config"},
      {{"check-config", "--scheduler-config=x", "--extender=kube"}, "i-scheduler-extender"},
      {{"check-config", "f", "--answer=both"}, "single, scored"},
      {{"check-config", "f", "--kube-version=latest"}, "--kube-version"},
      {{"check-config", "f", "--nodes-form=full"}, "simulate, live"},
      {{"render"}, "subcommand"},
      {{"render", "scheduler-config", "--single", "--scored"}, "--scored"},
      {{"render", "scheduler-config", "--kube-version=2.1"}, "2.1"},
      {{"explain"}, "NAMESPACE/NAME"},
      {{"explain", "pod"}, "NAMESPACE/NAME"},
      {{"explain", "node", "a"}, "NAMESPACE/NAME"},
      {{"explain", "-f", "x", "pod", "a/b"}, "NAMESPACE/NAME"},
      {{"explain", "pod", "a/b", "--limit=0"}, "--limit"},
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

TEST(CommandLine, RenderSchedulerConfig) {
  const CommandLine line =
      parse({"render", "scheduler-config", "--kube-version=v1.27.3+k3s1", "--scored",
             "--device-config=c.yaml", "--enable-ascend", "--url=https://s:1", "--tls-ca=ca",
             "--node-lock-retry-timeout=1m", "--leader-elect", "--scheduler-name=mine", "--preempt",
             "--kubeconfig=k"});
  ASSERT_EQ(line.command, Command::kRender) << line.message;
  const setup::RenderOptions& o = line.setup.render;
  EXPECT_EQ(o.kube_minor, 27);
  EXPECT_EQ(o.offer.answer, setup::Answer::kScored);
  EXPECT_EQ(line.device_config_file, "c.yaml");
  EXPECT_TRUE(line.serve.vendor_switches.ascend);
  EXPECT_EQ(o.url, "https://s:1");
  EXPECT_EQ(o.ca_file, "ca");
  EXPECT_EQ(o.offer.lock_wait, milliseconds(60'000));
  EXPECT_EQ(o.offer.lease_name, "mine") << "the scheduler's name, when nothing else is said";
  EXPECT_EQ(o.offer.lease_namespace, "kube-system");
  EXPECT_TRUE(o.preempt);
  EXPECT_EQ(o.kubeconfig, "k");

  const CommandLine plain = parse({"render", "scheduler-config"});
  ASSERT_EQ(plain.command, Command::kRender) << plain.message;
  EXPECT_EQ(plain.setup.render.kube_minor, setup::kTestedMinor);
  EXPECT_EQ(plain.setup.render.offer.scheduler_name, "hami-scheduler");
  EXPECT_EQ(plain.setup.render.offer.answer, setup::Answer::kSingle);
  EXPECT_EQ(plain.setup.render.offer.lock_wait, plain.serve.node_lock_retry_timeout);
  const CommandLine labels = parse({"render", "scheduler-config", "--label-priority"});
  EXPECT_EQ(labels.setup.render.offer.program, setup::Program::kLabelPriority);
  EXPECT_EQ(labels.setup.render.offer.scheduler_name, "i-scheduler-extender");
}

TEST(CommandLine, CheckOfASchedulersConfig) {
  const CommandLine line =
      parse({"check-config", "--scheduler-config=s.yaml", "--extender=hami", "--answer=scored",
             "--nodes-form=live", "--kube-version=1.30", "--leader-elect=true",
             "--leader-elect-resource-name=l", "--leader-elect-resource-namespace=n"});
  ASSERT_EQ(line.command, Command::kCheckConfig) << line.message;
  const setup::Offer& offer = line.setup.render.offer;
  EXPECT_EQ(line.setup.scheduler_config, "s.yaml");
  EXPECT_EQ(offer.program, setup::Program::kHami);
  EXPECT_EQ(offer.answer, setup::Answer::kScored);
  EXPECT_TRUE(offer.live_nodes);
  EXPECT_EQ(offer.kube_minor, 30);
  EXPECT_EQ(offer.scheduler_name, "") << "not told";
  EXPECT_EQ(offer.lease_name, "l");
  EXPECT_EQ(offer.lease_namespace, "n");
  const CommandLine bare = parse({"check-config", "--scheduler-config", "s.yaml"});
  EXPECT_FALSE(bare.setup.render.offer.kube_minor.has_value());
  EXPECT_EQ(bare.setup.render.offer.program, setup::Program::kServe);
}

TEST(CommandLine, ExplainAndVendors) {
  const CommandLine known = parse({"explain", "pod", "team-a/train", "--server=https://s:1",
                                   "--insecure-skip-verify", "--limit=7", "--json"});
  ASSERT_EQ(known.command, Command::kExplain) << known.message;
  EXPECT_EQ(known.explain.words, (std::vector<std::string>{"pod", "team-a/train"}));
  EXPECT_EQ(known.explain.server, "https://s:1");
  EXPECT_TRUE(known.explain.insecure);
  EXPECT_TRUE(known.explain.json);
  EXPECT_EQ(known.explain.limit, 7);
  const CommandLine given = parse({"explain", "-f", "pod.yaml", "--certificate-authority=ca"});
  ASSERT_EQ(given.command, Command::kExplain) << given.message;
  EXPECT_EQ(given.explain.file, "pod.yaml");
  EXPECT_EQ(given.explain.ca_file, "ca");
  EXPECT_EQ(given.explain.server, "http://127.0.0.1:8080");
  const CommandLine table = parse({"vendors", "--device-config-file=c", "--enable-ascend"});
  ASSERT_EQ(table.command, Command::kVendors) << table.message;
  EXPECT_EQ(table.device_config_file, "c");
  EXPECT_TRUE(table.serve.vendor_switches.ascend);
}

TEST(Manifest, YamlBecomesJsonAndQuotedTextStaysText) {
  struct Row {
    const char* yaml;
    const char* json;
  };
  const Row rows[] = {
      {"a: 1\nb: \"1\"\nc: '2'\n", R"({"a":1,"b":"1","c":"2"})"},
      {"a: true\nb: ~\nc: yes\nd: 1e3\ne: 1_000\nf: 0x10\n",
       R"({"a":true,"b":null,"c":"yes","d":1e3,"e":"1_000","f":"0x10"})"},
      {"spec:\n  containers:\n  - name: m\n    args: [x, 2]\n",
       R"({"spec":{"containers":[{"name":"m","args":["x",2]}]}})"},
      {R"({"kind":"Pod","n":[1,{"a":"b"}]})", R"({"kind":"Pod","n":[1,{"a":"b"}]})"},
  };
  for (const Row& row : rows) {
    const Result<std::string> json = manifest_json(row.yaml);
    ASSERT_TRUE(json) << row.yaml << json.error().what;
    EXPECT_EQ(*json, row.json);
  }
  EXPECT_NE(manifest_json("a: [1\nb").error().what.find("line 2"), std::string::npos);
  EXPECT_FALSE(manifest_json("- a\n"));
  EXPECT_FALSE(manifest_json(""));
}

}  // namespace
}  // namespace tessera::apps
