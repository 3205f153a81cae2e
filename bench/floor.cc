#include "floor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "http/server.h"
#include "json/reader.h"

namespace tessera::bench {
namespace {

constexpr int kRepeats = 15;

http::Route route(std::string path, std::size_t most, std::string answer) {
  http::Route route;
  route.method = "POST";
  route.path = std::move(path);
  route.max_body = most;
  route.handler = [answer = std::move(answer)](http::Request&&, const http::Responder& respond) {
    http::Response response;
    response.body = answer;
    respond(std::move(response));
  };
  return route;
}

Status repeat(LoadClient& client, const std::string& request, std::int64_t calls,
              std::chrono::microseconds pause, Latencies& times) {
  const std::int64_t warm_up = std::min<std::int64_t>(calls / 10, 500);
  for (std::int64_t i = 0; i < warm_up + calls; ++i) {
    std::this_thread::sleep_for(pause);
    const auto answer = client.exchange(request);
    if (!answer) return tl::unexpected(answer.error());
    if (i >= warm_up) times.add(answer->time);
  }
  return {};
}

/// The middle of some; for what is too short for a single look.
template <class Work>
double median_ms(Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

}  // namespace

Result<Floor> measure_floor(const std::string& body, std::size_t answer_size, std::int64_t calls,
                            std::chrono::microseconds pause) {
  auto server = http::Server::start(
      {}, {route("/empty", 1, ""), route("/same", body.size(), std::string(answer_size, 'x'))});
  if (!server) return tl::unexpected(server.error());
  auto client = LoadClient::connect((*server)->port());
  if (!client) return tl::unexpected(client.error());
  Floor floor;
  if (auto status = repeat(**client, post("/empty", ""), calls, pause, floor.empty); !status)
    return tl::unexpected(status.error());
  if (auto status = repeat(**client, post("/same", body), calls, pause, floor.same); !status)
    return tl::unexpected(status.error());
  std::string copy(body.size(), ' ');
  floor.copy_ms = median_ms([&] { std::memcpy(copy.data(), body.data(), body.size()); });
  json::Parser parser;
  bool sound = true;
  floor.parse_ms = median_ms([&] { sound = parser.parse(std::string_view(copy)) && sound; });
  if (!sound) return fail(Code::kInternal, "the body of a call is no JSON");
  return floor;
}

}  // namespace tessera::bench
