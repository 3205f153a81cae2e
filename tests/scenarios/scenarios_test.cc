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
  std::unique_ptr<service::Server> server;
  const auto start = [&]() -> Result<std::string> {
    server.reset();
    auto started = service::Server::start(scenario_options(*scenario),
                                          client::Credentials{.server = (*api)->url()}, clock);
    if (!started) return tl::unexpected(started.error());
    server = std::move(*started);
    if (!server->wait_ready(std::chrono::seconds(10)))
      return fail(Code::kUnavailable, "the server did not become ready");
    return "http://127.0.0.1:" + std::to_string(server->port());
  };
  const Result<std::string> url = start();
  ASSERT_TRUE(url) << url.error().what;
  EXPECT_EQ(run_live(*scenario, {(*api)->url(), *url, start}), "");
  EXPECT_EQ(server->self_check(), "");
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
       {13,  14,  16,  18,  19,  20,  21,  35,  41,  42,  43,  45,  46,  50,  52,  61,  63,  69,
        108, 109, 110, 112, 113, 114, 116, 117, 118, 121, 122, 123, 127, 130, 131, 132, 133, 134,
        135, 138, 141, 142, 143, 145, 146, 147, 149, 151, 153, 203, 205, 206, 221, 222, 229}) {
    EXPECT_EQ(cases.count(number), 1U) << "case " << number;
  }
  EXPECT_GE(scenario_files().size(), 95U);
}

}  // namespace
}  // namespace tessera::sim
