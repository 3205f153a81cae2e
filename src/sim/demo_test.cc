#include "sim/demo.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "http/server.h"

namespace tessera::sim {
namespace {

struct Outcome {
  Result<int> code = 0;
  std::string out;
};
Outcome run(DemoOptions options, bool stopped = false) {
  options.terminal = false;
  const std::atomic<bool> stop{stopped};
  testing::internal::CaptureStdout();
  Outcome r;
  r.code = run_demo(options, stop);
  r.out = testing::internal::GetCapturedStdout();
  return r;
}
DemoOptions brief() {
  return {
      .nodes = 3, .devices = 2, .rate = 60, .duration = std::chrono::milliseconds(1500), .port = 0};
}

TEST(RunDemo, PlacesRunsAndEndsPodsWithoutABrokenRule) {
  const Outcome r = run(brief());
  ASSERT_TRUE(r.code) << r.code.error().what;
  EXPECT_EQ(*r.code, 0) << r.out;
  EXPECT_NE(r.out.find("no device over its limits"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find(", 0 bound,"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find(", 0 finished,"), std::string::npos) << r.out;
}

TEST(RunDemo, StopsAtOnceWhenAsked) {
  DemoOptions options = brief();
  options.duration = std::chrono::milliseconds(0);
  const Outcome r = run(options, true);
  ASSERT_TRUE(r.code) << r.code.error().what;
  EXPECT_EQ(*r.code, 0);
}

TEST(RunDemo, WritesAKubeconfigForItsOwnerAlone) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("demo-kubeconfig-" + std::to_string(::getpid())))
          .string();
  DemoOptions options = brief();
  options.kubeconfig_out = path;
  ASSERT_TRUE(run(options, true).code);
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("http://127.0.0.1:"), std::string::npos) << text.str();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::filesystem::remove(path);
}

TEST(RunDemo, ReplaysAFile) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("demo-trace-" + std::to_string(::getpid())))
          .string();
  std::ofstream(path) << "name,num_gpu,gpu_milli\nonly-pod,1,500\n";
  DemoOptions options = brief();
  options.trace_file = path;
  const Outcome r = run(options);
  std::filesystem::remove(path);
  ASSERT_TRUE(r.code) << r.code.error().what;
  EXPECT_EQ(*r.code, 0);
  EXPECT_NE(r.out.find("with 1 device pods"), std::string::npos) << r.out;
}

struct FaultCase {
  std::string_view name;
  void (*change)(DemoOptions&);
  std::string_view error;
};
class RunDemoFault : public testing::TestWithParam<FaultCase> {};
TEST_P(RunDemoFault, NamesFlagAndValue) {
  DemoOptions options = brief();
  GetParam().change(options);
  const Outcome r = run(options);
  ASSERT_FALSE(r.code);
  EXPECT_EQ(r.code.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, RunDemoFault,
    testing::ValuesIn(std::vector<FaultCase>{
        {"nodes", [](DemoOptions& o) { o.nodes = 0; }, "--nodes 0: must be from 1 to 10000"},
        {"devices", [](DemoOptions& o) { o.devices = 65; }, "--devices 65: must be from 1 to 64"},
        {"rate", [](DemoOptions& o) { o.rate = -1; },
         "--rate -1: must be from 0 to 10000 pods per second"},
        {"duration", [](DemoOptions& o) { o.duration = std::chrono::milliseconds(-1000); },
         "--for -1s: must be 0 (until Ctrl-C) or longer"},
        {"trace", [](DemoOptions& o) { o.trace_file = "/does/not/exist.csv"; },
         "--trace: cannot read \"/does/not/exist.csv\": No such file or directory"},
        {"kubeconfig", [](DemoOptions& o) { o.kubeconfig_out = "/does/not/exist"; },
         "--kubeconfig-out /does/not/exist: cannot be written"},
    }),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST(RunDemo, PortInUseIsSaidClearly) {
  const auto other = http::Server::start({}, {});
  ASSERT_TRUE(other);
  DemoOptions options = brief();
  options.port = (*other)->port();
  const Outcome r = run(options);
  ASSERT_FALSE(r.code);
  EXPECT_NE(r.code.error().what.find(std::to_string(options.port)), std::string::npos)
      << r.code.error().what;
  EXPECT_NE(r.code.error().what.find("--port chooses another port"), std::string::npos)
      << r.code.error().what;
}

}  // namespace
}  // namespace tessera::sim
