// --compare: F1 beside a second server of ours, and beside one that answers wrongly.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/read_file.h"
#include "free_port.h"
#include "heap_counter.h"
#include "http/server.h"
#include "other_extender.h"
#include "report.h"
#include "scenario.h"
#include "stage.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

ScenarioOptions compare_with(std::uint16_t port, const Folder& folder) {
  ScenarioOptions options;
  options.quick = true;
  options.compare = fmt::format("http://127.0.0.1:{}", port);
  options.more = {{"kubeconfig-out", folder.file("kubeconfig-other")},
                  {"same-policy", "1"},
                  {"patience-s", "60"}};
  return options;
}

TEST(Compare, ASecondServerOfOursTakesNodesAsFullAsOurs) {
  const Folder folder;
  const std::uint16_t port = free_port();
  std::atomic<bool> over{false};
  Result<std::unique_ptr<ChildProcess>> second = fail(Code::kUnavailable, "not started");
  // What a person does in another terminal: it waits for the kubeconfig and starts the other one.
  std::thread person([&] {
    std::string text;
    while (!over && !text.ends_with('\n')) {
      text = read_file(folder.file("kubeconfig-other")).value_or("");
      std::this_thread::sleep_for(10ms);
    }
    if (over) return;
    second = ChildProcess::start(
        {program_beside(), "serve", "--kubeconfig=" + folder.file("kubeconfig-other"),
         fmt::format("--http_bind=127.0.0.1:{}", port), "--metrics-bind-address=127.0.0.1:0",
         "--scheduler-name=hami-scheduler"},
        folder.file("log-other"));
  });
  const auto report = run_f1(compare_with(port, folder));
  over = true;
  person.join();
  ASSERT_TRUE(report) << report.error().what << read_file(folder.file("log-other")).value_or("");
  ASSERT_TRUE(second) << second.error().what;
  ASSERT_EQ(report->rows.size(), 2u);
  EXPECT_TRUE(all_checked(*report));
  const std::string table = report_table(*report);
  for (const char* figure : {"p50_ratio", "p99_ratio", "load_ratio", "cpu_ratio", "rss_ratio"})
    EXPECT_THAT(table, HasSubstr(figure));
  EXPECT_THAT(table, HasSubstr(fmt::format("known class, http://127.0.0.1:{}", port)));
}

/// Every pod that fits somewhere gets the last node, whether it was asked for or not.
http::Response always_the_last(const http::Request& request) {
  http::Response response;
  if (request.body.find("\"81921\"") == std::string::npos) {
    response.body =
        R"({"NodeNames":["accelerated-pool-a.zone-1.example-00039"],"FailedNodes":{},"Error":""})";
    return response;
  }
  for (int n = 0; n < 40; ++n)
    response.body += fmt::format(R"({}"accelerated-pool-a.zone-1.example-{:05}":"full")",
                                 n == 0 ? R"({"FailedNodes":{)" : ",", n);
  response.body += R"(},"Error":""})";
  return response;
}

TEST(Compare, AWrongAnswerOfTheOtherEndsTheRun) {
  http::Route route;
  route.method = "POST";
  route.path = "/filter";
  route.max_body = std::size_t{1} << 20;
  route.handler = [](http::Request&& request, const http::Responder& respond) {
    respond(always_the_last(request));
  };
  auto server = http::Server::start({}, {std::move(route)});
  ASSERT_TRUE(server) << server.error().what;
  const Folder folder;
  const auto report = run_f1(compare_with((*server)->port(), folder));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().what, HasSubstr("WRONG ANSWER"));
  EXPECT_THAT(report.error().what, HasSubstr("node 39 was not asked"));
}

TEST(Compare, UrlsOfThisMachineOnly) {
  const auto url = parse_extender_url("http://127.0.0.1:9090/hami/");
  ASSERT_TRUE(url) << url.error().what;
  EXPECT_EQ(url->port, 9090);
  EXPECT_EQ(url->path, "/hami");
  for (const char* wrong : {"https://127.0.0.1:1", "http://127.0.0.1", "http://10.0.0.1:80",
                            "http://127.0.0.1:0", "127.0.0.1:80", ""})
    EXPECT_THAT(parse_extender_url(wrong).error().what,
                HasSubstr(fmt::format("--compare {}: ", wrong)));
}

TEST(Compare, WantsAFileForTheOther) {
  ScenarioOptions options;
  options.compare = "http://127.0.0.1:1";
  EXPECT_THAT(run_f1(options).error().what, HasSubstr("--kubeconfig-out"));
}

/// The library that counts is loaded, and it counts.
TEST(HeapCounter, CountsWhatAChildAsksFor) {
  const Folder folder;
  const HeapCounter counter(folder);
  EXPECT_EQ(counter.count(), 0u);
  const auto child =
      ChildProcess::start({program_beside(), "version"}, folder.file("log"), counter.environment());
  ASSERT_TRUE(child) << child.error().what;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (counter.count() == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(5ms);
  EXPECT_GT(counter.count(), 0u);
}

}  // namespace
}  // namespace tessera::bench
