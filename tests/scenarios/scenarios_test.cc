// Runs every file of this folder twice: in the core, and over HTTP against the running server with
// an embedded API server behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "client/credentials.h"
#include "obs/log.h"
#include "service/server.h"
#include "sim/api_server.h"
#include "sim/scenario.h"

namespace tessera::sim {
namespace {

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/scenarios")) {
    if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Scenario> read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return parse_scenario(text.str(), path.filename().string());
}

class ScenarioFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScenarioFile, InTheCore) {
  const Result<Scenario> scenario = read(GetParam());
  ASSERT_TRUE(scenario) << scenario.error().what;
  EXPECT_EQ(run_in_core(*scenario), "");
}

TEST_P(ScenarioFile, Live) {
  const Result<Scenario> scenario = read(GetParam());
  ASSERT_TRUE(scenario) << scenario.error().what;
  log::set_level(log::Level::kWarn);
  const SystemClock clock;
  const auto api = ApiServer::start({}, clock);
  ASSERT_TRUE(api) << api.error().what;
  service::ServeOptions options;
  options.http_bind = "127.0.0.1:0";
  options.metrics_bind = "";
  options.scheduler_name = "hami-scheduler";
  const auto server =
      service::Server::start(options, client::Credentials{.server = (*api)->url()}, clock);
  ASSERT_TRUE(server) << server.error().what;
  ASSERT_TRUE((*server)->wait_ready(std::chrono::seconds(10)));
  EXPECT_EQ(
      run_live(*scenario, (*api)->url(), "http://127.0.0.1:" + std::to_string((*server)->port())),
      "");
  EXPECT_EQ((*server)->self_check(), "");
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioFile, testing::ValuesIn(scenario_files()),
                         [](const auto& file) {
                           std::string name = file.param.stem().string();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(ScenarioFiles, CoverTheCasesOfThisPart) {
  std::set<int> cases;
  for (const auto& path : scenario_files()) {
    if (const Result<Scenario> scenario = read(path))
      cases.insert(scenario->cases.begin(), scenario->cases.end());
  }
  for (const int number :
       {13, 14, 16, 18, 19, 20, 21, 35, 41, 42, 43, 45, 46, 50, 52, 61, 63, 69}) {
    EXPECT_EQ(cases.count(number), 1U) << "case " << number;
  }
  EXPECT_GE(scenario_files().size(), 30U);
}

}  // namespace
}  // namespace tessera::sim
