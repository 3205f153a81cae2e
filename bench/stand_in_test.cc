// --compare beside an extender with the manners of HAMi's own, in every detail that the bench
// meets: its port is closed until it has read the cluster; calls then wait for its first pass over
// the nodes, which asks each node's agent for a sign of life; a node that was not passed yet is
// "node unregistered"; a decision is worked out of everything, goes to the highest load before the
// pod, written on the pod before the answer; lists that are not told are null; bodies end at 1 MiB.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "free_port.h"
#include "http/server.h"
#include "json/reader.h"
#include "json/writer.h"
#include "report.h"
#include "scenario.h"
#include "stage.h"
#include "vendors/codec.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kAllocated = "hami.io/vgpu-devices-allocated";
constexpr std::size_t kLongestBody = std::size_t{1} << 20;

struct Manners {
  std::uint16_t port = 0;
  std::chrono::milliseconds before_pass{300}, between_passes{400};
  bool all_in_second_pass = true;  ///< the first one takes up every other node and the last one
  bool spread = false;             ///< takes the emptiest node, whatever the pod wants
};

class StandIn {
 public:
  StandIn(Manners manners, std::uint16_t api_port) : manners_(manners), api_port_(api_port) {
    worker_ = std::thread([this] { work(); });
  }
  ~StandIn() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    worker_.join();
    if (server_ != nullptr) server_->stop();
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  std::vector<std::string> problems() const { return locked(problems_); }
  std::size_t placed() const { return locked(placed_); }
  std::size_t refused_half_known() const { return locked(refused_half_known_); }

 private:
  struct Card {
    core::Device device;
    core::Usage used;
  };
  struct View {
    double load = 0;
    const Card* emptiest = nullptr;
  };
  struct Node {
    std::string name, cards;
    bool known = false;
  };
  struct Job {
    http::Request request;
    http::Responder respond;
  };
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  void problem(std::string what) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(std::move(what));
  }

  void work();
  bool take(std::chrono::steady_clock::time_point until, std::optional<Job>& job);
  void listen();
  std::string api(std::string_view method, std::string_view path, std::string_view body = {},
                  std::string_view type = "application/json");
  void read_nodes();
  void pass(bool all);
  std::vector<std::pair<const Node*, std::vector<Card>>> usage();
  static View look_at(const std::vector<Card>& cards, std::int64_t memory, std::int64_t cores);
  void answer(Job&& job);
  std::string decide(json::Value pod, const std::vector<std::string>& names);
  bool write_on(json::Value pod, const std::string& node, const std::string& devices);

  const Manners manners_;
  const std::uint16_t api_port_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::deque<Job> jobs_;
  std::vector<std::string> problems_;
  std::size_t placed_ = 0, refused_half_known_ = 0;
  std::unique_ptr<LoadClient> client_;  // from here on: the worker's own
  std::vector<Node> nodes_;
  int passes_ = 0;
  std::unique_ptr<http::Server> server_;
  std::thread worker_;
};

std::string StandIn::api(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view type) {
  const auto answer = client_->exchange(
      fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: stand-in/1\r\n"
                  "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
                  method, path, type, body.size(), body));
  if (answer && answer->status / 100 == 2) return answer->body;
  problem(fmt::format("{} {}: {}", method, path, answer ? answer->body : answer.error().what));
  return "{}";
}

void StandIn::listen() {
  http::Route route;
  route.method = "POST";
  route.path = "/filter";
  route.max_body = std::size_t{64} << 20;
  route.handler = [this](http::Request&& request, const http::Responder& respond) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({std::move(request), respond});
    }
    changed_.notify_all();
  };
  auto server = http::Server::start({.address = fmt::format("127.0.0.1:{}", manners_.port)},
                                    {std::move(route)});
  if (!server) return problem(server.error().what);
  server_ = std::move(*server);
}

/// False: it is over. Nothing in `job`: the time has come.
bool StandIn::take(std::chrono::steady_clock::time_point until, std::optional<Job>& job) {
  std::unique_lock lock(mutex_);
  const bool synced = passes_ > 0;  // calls wait for the first pass
  changed_.wait_until(lock, until, [&] { return over_ || (synced && !jobs_.empty()); });
  if (over_) return false;
  if (!synced || jobs_.empty()) return true;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

void StandIn::work() {
  auto client = LoadClient::connect(api_port_);
  if (!client) return problem(client.error().what);
  client_ = std::move(*client);
  for (const char* list : {"/api/v1/pods?limit=500", "/api/v1/resourcequotas?limit=500"})
    api("GET", list);
  read_nodes();
  listen();
  auto next_pass = std::chrono::steady_clock::now() + manners_.before_pass;
  for (;;) {
    std::optional<Job> job;
    if (!take(next_pass, job)) return;
    if (job) answer(std::move(*job));
    if (std::chrono::steady_clock::now() < next_pass) continue;
    pass(passes_ > 0 && manners_.all_in_second_pass);
    ++passes_;
    next_pass = std::chrono::steady_clock::now() + manners_.between_passes;
  }
}

void StandIn::read_nodes() {
  json::Parser parser;
  const auto list = parser.parse(api("GET", "/api/v1/nodes"));
  if (!list) return problem(list.error().what);
  (*list)["items"].for_each_element([&](json::Value node) {
    const auto annotations = node["metadata"]["annotations"];
    nodes_.push_back(
        {.name = std::string(node["metadata"]["name"].string_or("")),
         .cards = std::string(annotations["hami.io/node-nvidia-register"].string_or(""))});
    // Without units to give away the agent counts as dead after a minute.
    const auto units = node["status"]["allocatable"]["nvidia.com/gpu"].string_or("0");
    if (units == "0") problem(nodes_.back().name + " has no allocatable cards");
  });
}

/// One node after the other, a read and a write for each that is taken up.
void StandIn::pass(bool all) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (node.known || (!all && n % 2 != 0 && n + 1 != nodes_.size())) continue;
    const std::string path = "/api/v1/nodes/" + node.name;
    api("GET", path);
    const std::string written = api("PATCH", path,
                                    R"({"metadata":{"annotations":{"hami.io/node-handshake":)"
                                    R"("Requesting_2026-01-02 03:04:05"}}})",
                                    "application/merge-patch+json");
    if (written.find("Requesting_2026-01-02 03:04:05") == std::string::npos)
      problem("the handshake is not on " + node.name);
    node.known = true;
  }
}

/// Everything from the beginning, for every call.
std::vector<std::pair<const StandIn::Node*, std::vector<StandIn::Card>>> StandIn::usage() {
  std::vector<std::pair<const Node*, std::vector<Card>>> all;
  std::unordered_map<std::string, Card*> by_id;
  for (const Node& node : nodes_) {
    if (!node.known) continue;
    const auto devices = vendors::decode_register(node.cards, {0});
    if (!devices) problem(devices.error().what);
    std::vector<Card> cards;
    for (const core::Device& device : devices.value_or(std::vector<core::Device>{}))
      cards.push_back({device, {}});
    all.emplace_back(&node, std::move(cards));
  }
  for (auto& [node, cards] : all)
    for (Card& card : cards) by_id[card.device.id] = &card;
  json::Parser parser;
  const auto pods = parser.parse(api("GET", "/api/v1/pods"));
  if (!pods) return all;
  (*pods)["items"].for_each_element([&](json::Value pod) {
    const auto held =
        vendors::decode_pod_devices(pod["metadata"]["annotations"][kAllocated].string_or(""));
    if (!held) return;
    for (const auto& position : *held)
      for (const auto& device : position)
        if (const auto found = by_id.find(device.id); found != by_id.end())
          found->second->used += {.slots = 1, .memory = {device.memory}, .cores = {device.cores}};
  });
  return all;
}

std::string refusal(const std::vector<std::pair<std::string, std::string>>& reasons) {
  json::Writer w;
  w.begin_object().key("Nodes").null().key("NodeNames").null().key("FailedNodes").begin_object();
  for (const auto& [node, reason] : reasons) w.key(node).string(reason);
  w.end_object().key("FailedAndUnresolvableNodes").null().key("Error").string("").end_object();
  return std::move(w).take();
}

std::string only_error(std::string_view what) {
  return fmt::format(R"({{"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
                     R"("FailedAndUnresolvableNodes":null,"Error":"{}"}})",
                     what);
}

std::int64_t limit(json::Value pod, std::string_view resource) {
  std::int64_t value = 0;
  pod["spec"]["containers"].for_each_element([&](json::Value container) {
    value =
        text::parse_int(container["resources"]["limits"][resource].string_or("0"), 64).value_or(0);
  });
  return value;
}

/// The load before the pod, and the emptiest card that has room.
StandIn::View StandIn::look_at(const std::vector<Card>& cards, std::int64_t memory,
                               std::int64_t cores) {
  View view;
  core::Usage held, all;
  for (const Card& card : cards) {
    held += card.used;
    all += {.slots = card.device.slots, .memory = card.device.memory, .cores = card.device.cores};
    const bool room = card.used.slots < card.device.slots &&
                      card.used.memory.v + memory <= card.device.memory.v &&
                      card.used.cores.v + cores <= card.device.cores.v;
    if (room && (view.emptiest == nullptr || card.used.memory.v < view.emptiest->used.memory.v))
      view.emptiest = &card;
  }
  const auto part = [](std::int64_t of, std::int64_t whole) {
    return static_cast<double>(of) / static_cast<double>(whole);
  };
  view.load = part(held.slots, all.slots) + part(held.memory.v, all.memory.v) +
              part(held.cores.v, all.cores.v);
  return view;
}

std::string StandIn::decide(json::Value pod, const std::vector<std::string>& names) {
  const std::int64_t memory = limit(pod, "nvidia.com/gpumem"),
                     cores = limit(pod, "nvidia.com/gpucores");
  const auto all = usage();
  std::vector<std::pair<std::string, std::string>> reasons;
  const Node* best = nullptr;
  const Card* best_card = nullptr;
  double best_score = 0;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& entry) { return entry.first->name == name; });
    if (found == all.end()) {
      reasons.emplace_back(name, "node unregistered");
      continue;
    }
    const View view = look_at(found->second, memory, cores);
    if (view.emptiest == nullptr) {
      reasons.emplace_back(name, "8/8 CardInsufficientMemory");
      continue;
    }
    const double score = manners_.spread ? -view.load : view.load;
    if (best != nullptr && score < best_score) continue;  // the last of equals
    best = found->first;
    best_card = view.emptiest;
    best_score = score;
  }
  if (best == nullptr) {
    const std::lock_guard lock(mutex_);
    refused_half_known_ += all.size() < nodes_.size() ? 1 : 0;
    return refusal(reasons);
  }
  if (all.size() < nodes_.size() && names.size() > 1)
    problem("a pod that fits was asked about while half of the nodes were known");
  if (!write_on(pod, best->name,
                fmt::format("{},NVIDIA,{},{}:;", best_card->device.id, memory, cores)))
    return only_error("the pod could not be patched");
  {
    const std::lock_guard lock(mutex_);
    ++placed_;
  }
  return fmt::format(R"({{"Nodes":null,"NodeNames":["{}"],"FailedNodes":null,)"
                     R"("FailedAndUnresolvableNodes":null,"Error":""}})",
                     best->name);
}

bool StandIn::write_on(json::Value pod, const std::string& node, const std::string& devices) {
  const auto name = pod["metadata"]["name"].string_or(""),
             space = pod["metadata"]["namespace"].string_or("");
  const std::string patched =
      api("PATCH", fmt::format("/api/v1/namespaces/{}/pods/{}", space, name),
          fmt::format(
              R"({{"metadata":{{"annotations":{{"{1}":"{2}","hami.io/vgpu-devices-to-allocate":)"
              R"("{2}","hami.io/vgpu-node":"{0}","hami.io/vgpu-time":"1787300000"}},)"
              R"("labels":{{"hami.io/vgpu-node":"{0}"}}}}}})",
              node, kAllocated, devices),
          "application/merge-patch+json");
  json::Parser parser;
  const auto read = parser.parse(std::string_view(patched));
  if (!read || (*read)["metadata"]["labels"]["hami.io/vgpu-node"].string_or("") != node)
    return false;
  api("POST", fmt::format("/api/v1/namespaces/{}/events", space),
      fmt::format(
          R"({{"metadata":{{"generateName":"{0}."}},"involvedObject":{{"kind":"Pod",)"
          R"("namespace":"{1}","name":"{0}"}},"reason":"FilteringSucceed","type":"Normal"}})",
          name, space));
  return true;
}

void StandIn::answer(Job&& job) {
  std::string body;
  json::Parser parser;
  const auto call = parser.parse(std::string_view(job.request.body));
  if (job.request.body.size() > kLongestBody) {
    body = only_error("unexpected EOF");
  } else if (!call || (*call)["Pod"]["metadata"]["uid"].string_or("").empty()) {
    body = only_error("extender args missing pod");
  } else if (!(*call)["Nodes"].is_null_or_missing()) {
    body = only_error("whole nodes are another matter");
  } else {
    std::vector<std::string> names;
    (*call)["NodeNames"].for_each_element(
        [&](json::Value name) { names.emplace_back(name.string_or("")); });
    body = decide((*call)["Pod"], names);
  }
  constexpr std::size_t kSentWhole = 2048;  // longer answers come in chunks
  if (body.size() <= kSentWhole) {
    http::Response response;
    response.body = std::move(body);
    return job.respond(std::move(response));
  }
  const auto stream = job.respond.stream(200, "application/json");
  stream->write(std::move(body));
  stream->end();
}

/// Waits for the kubeconfig, then starts the stand-in, as a person does in another terminal.
class Person {
 public:
  Person(Manners manners, std::string kubeconfig)
      : thread_([this, manners, file = std::move(kubeconfig)] {
          std::string text;
          while (!over_ && !text.ends_with('\n')) {
            std::ifstream stream(file);
            text.assign(std::istreambuf_iterator<char>(stream), {});
            std::this_thread::sleep_for(10ms);
          }
          if (over_) return;
          constexpr std::string_view kServer = "http://127.0.0.1:";
          const auto at = text.find(kServer) + kServer.size();
          const auto digits = text.substr(at, text.find_first_not_of("0123456789", at) - at);
          stand_in_ = std::make_unique<StandIn>(
              manners, static_cast<std::uint16_t>(text::parse_int(digits, 32).value_or(0)));
        }) {}
  ~Person() { leave(); }
  Person(const Person&) = delete;
  Person& operator=(const Person&) = delete;
  /// The bench has ended; null when there was nothing to start.
  const StandIn* leave() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return stand_in_.get();
  }

 private:
  std::atomic<bool> over_{false};
  std::unique_ptr<StandIn> stand_in_;
  std::thread thread_;
};

Result<Report> measure_beside(const Manners& manners, const Folder& folder, const char* patience) {
  ScenarioOptions options;
  options.quick = true;
  options.compare = fmt::format("http://127.0.0.1:{}", manners.port);
  options.more = {{"kubeconfig-out", folder.file("kubeconfig-other")},
                  {"same-policy", "1"},
                  {"patience-s", patience}};
  return run_f1(options);
}

TEST(StandIn, IsWaitedForUntilItKnowsAllNodesAndTakesNodesAsFullAsOurs) {
  const Folder folder;
  const Manners manners{.port = free_port()};
  Person person(manners, folder.file("kubeconfig-other"));
  const auto report = measure_beside(manners, folder, "60");
  const StandIn* stand_in = person.leave();
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_NE(stand_in, nullptr);
  EXPECT_THAT(stand_in->problems(), testing::IsEmpty());
  ASSERT_EQ(report->rows.size(), 2u);
  EXPECT_TRUE(all_checked(*report));
  EXPECT_EQ(report->rows[1].answers_checked(), 50);
  EXPECT_GE(stand_in->placed(), 51u) << "one while it was waited for, then warm-up and calls";
  EXPECT_GE(stand_in->refused_half_known(), 1u) << "it was asked before it knew all";
}

TEST(StandIn, OneThatNeverKnowsAllNodesIsNotMeasured) {
  const Folder folder;
  const Manners manners{.port = free_port(), .all_in_second_pass = false};
  Person person(manners, folder.file("kubeconfig-other"));
  const auto report = measure_beside(manners, folder, "8");
  const StandIn* stand_in = person.leave();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().what, HasSubstr("it does not know 19 of 40 nodes"));
  ASSERT_NE(stand_in, nullptr);
  EXPECT_THAT(stand_in->problems(), testing::IsEmpty());
}

TEST(StandIn, AnotherPolicyShowsInHowFullTheNodesAre) {
  const Folder folder;
  const Manners manners{.port = free_port(), .spread = true};
  Person person(manners, folder.file("kubeconfig-other"));
  const auto report = measure_beside(manners, folder, "60");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().what, HasSubstr("WRONG ANSWER"));
  EXPECT_THAT(report.error().what, HasSubstr("takes are 0."));
  EXPECT_THAT(report.error().what, HasSubstr("times as full as ours"));
}

}  // namespace
}  // namespace tessera::bench
