// Handlers that answer late, never, twice or after the end; clients that leave; streams; stopping.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "http/server.h"
#include "http/testing.h"

namespace tessera::http {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::eventually;
using testing::get;
using testing::post;

/// Keeps requests until the test answers them.
class Desk {
 public:
  struct Visit {
    Request request;
    Responder respond;
  };
  void receive(Request&& request, Responder respond) {
    const std::lock_guard lock(mutex_);
    visits_.push_back({std::move(request), std::move(respond)});
    arrived_.notify_all();
  }
  std::optional<Visit> next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, 10s, [this] { return !visits_.empty(); })) return std::nullopt;
    Visit visit = std::move(visits_.front());
    visits_.erase(visits_.begin());
    return visit;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Visit> visits_;
};

class Lifetime : public ::testing::Test {
 protected:
  void SetUp() override {
    Route desk;
    desk.method = "*";
    desk.path = "/desk*";
    desk.handler = [this](Request&& request, Responder respond) {
      desk_.receive(std::move(request), std::move(respond));
    };
    Route now;
    now.method = "GET";
    now.path = "/now";
    now.handler = [](Request&&, const Responder& respond) { respond({}); };
    Route throwing;
    throwing.method = "GET";
    throwing.path = "/throw";
    throwing.handler = [](Request&&, const Responder&) { throw std::runtime_error("broken"); };
    auto server = Server::start({}, {std::move(desk), std::move(now), std::move(throwing)});
    ASSERT_TRUE(server.has_value());
    server_ = std::move(*server);
  }

  static Response text(std::string body) {
    Response response;
    response.body = std::move(body);
    return response;
  }

  Desk desk_;
  std::unique_ptr<Server> server_;
};

TEST_F(Lifetime, AnswersFromOtherThreads) {
  Client client(server_->port());
  for (int i = 0; i < 50; ++i) {
    client.send(post("/desk", std::to_string(i)));
    auto visit = desk_.next();
    ASSERT_TRUE(visit);
    visit->respond(text("re: " + visit->request.body));
    EXPECT_EQ(client.receive().body, "re: " + std::to_string(i));
  }
}

TEST_F(Lifetime, AnUnansweredRequestGets500) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  { const auto dropped = desk_.next(); }
  EXPECT_EQ(client.receive().status, 500);
  EXPECT_EQ(client.exchange(get("/now")).status, 200);
}

TEST_F(Lifetime, AHandlerThatThrowsGets500) {
  Client client(server_->port());
  EXPECT_EQ(client.exchange(get("/throw")).status, 500);
  EXPECT_EQ(client.exchange(get("/now")).status, 200);
}

TEST_F(Lifetime, TheFirstAnswerCounts) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const Responder copy = visit->respond;
  copy(text("first"));
  visit->respond(text("second"));
  EXPECT_FALSE(copy.stream(200, "text/plain")->write("third"));
  copy.abort();
  EXPECT_EQ(client.receive().body, "first");
  EXPECT_EQ(client.exchange(get("/now")).status, 200);
}

TEST_F(Lifetime, AbortCutsTheConnection) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  visit->respond.abort();
  EXPECT_EQ(client.receive().status, 0);
}

TEST_F(Lifetime, TheFlagSaysThatTheClientLeft) {
  for (const bool rude : {false, true}) {
    auto client = std::make_unique<Client>(server_->port());
    client->send(post("/desk", "x"));
    const auto visit = desk_.next();
    ASSERT_TRUE(visit);
    EXPECT_FALSE(visit->request.client_gone->load());
    if (rude) client->reset();
    client.reset();
    EXPECT_TRUE(eventually([&] { return visit->request.client_gone->load(); }));
    visit->respond({});  // nobody hears it
  }
  EXPECT_EQ(Client(server_->port()).exchange(get("/now")).status, 200);
}

TEST_F(Lifetime, AClientThatOnlyFinishedSendingGetsItsAnswer) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  client.finish_sending();
  ASSERT_TRUE(eventually([&] { return visit->request.client_gone->load(); }));
  visit->respond(text("yours"));
  EXPECT_EQ(client.receive().body, "yours");
  EXPECT_TRUE(client.ends_within(5s));
}

TEST_F(Lifetime, APipelinedRequestWaitsForTheOneBefore) {
  Client client(server_->port());
  client.send(post("/desk", "slow") + get("/now"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  visit->respond(text("slow is done"));
  EXPECT_EQ(client.receive().body, "slow is done");
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(Lifetime, StreamsReachTheClientPieceByPiece) {
  Client client(server_->port());
  client.send(get("/desk?watch=1"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto stream = visit->respond.stream(200, "application/json");
  EXPECT_TRUE(stream->open());
  std::size_t end = 0;
  std::string seen;
  for (int i = 0; i < 10; ++i) {
    const std::string line = "event " + std::to_string(i) + "\n";
    EXPECT_TRUE(stream->write(line));
    while ((end = seen.find(line)) == std::string::npos) {
      const auto more = client.receive_some();
      ASSERT_FALSE(more.empty());
      seen += more;
    }
  }
  EXPECT_NE(seen.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  stream->end();
  EXPECT_FALSE(stream->write("late"));
  while (seen.find("0\r\n\r\n") == std::string::npos) seen += client.receive_some();
  EXPECT_EQ(client.exchange(get("/now")).status, 200);
}

TEST_F(Lifetime, StreamsKeepTheOrderOfTheirWrites) {
  Client client(server_->port());
  client.send(get("/desk"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto stream = visit->respond.stream(200, "text/plain");
  std::mutex mutex;
  int next = 0;
  std::string expected;
  const auto produce = [&] {
    for (int i = 0; i < 500; ++i) {
      const std::lock_guard lock(mutex);
      const std::string line = std::to_string(next++) + "\n";
      expected += line;
      stream->write(line);
    }
  };
  {
    std::jthread one(produce);
    std::jthread two(produce);
  }
  stream->end();
  const auto reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body == expected);
}

TEST_F(Lifetime, AStreamEndsWhenTheClientLeaves) {
  auto client = std::make_unique<Client>(server_->port());
  client->send(get("/desk"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto stream = visit->respond.stream(200, "text/plain");
  EXPECT_TRUE(stream->write("hello"));
  client.reset();
  EXPECT_TRUE(eventually([&] { return !stream->write("anybody?"); }));
  EXPECT_FALSE(stream->open());
  EXPECT_TRUE(visit->request.client_gone->load());
  stream->end();
}

TEST_F(Lifetime, AClientThatDoesNotReadIsCut) {
  Client client(server_->port());
  client.send(get("/desk"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto stream = visit->respond.stream(200, "text/plain");
  const std::string megabyte(1 << 20, 'x');
  int written = 0;
  while (written < 200 && stream->write(megabyte)) ++written;
  EXPECT_GE(written, 16);
  EXPECT_LT(written, 200);
  EXPECT_FALSE(stream->open());
  EXPECT_EQ(client.receive().status, 0);
}

TEST_F(Lifetime, AStreamThatIsDroppedOrAbortedIsCutNotEnded) {
  for (const bool drop : {true, false}) {
    Client client(server_->port());
    client.send(get("/desk"));
    auto visit = desk_.next();
    ASSERT_TRUE(visit);
    auto stream = visit->respond.stream(200, "text/plain");
    stream->write("half");
    if (drop) {
      stream.reset();
    } else {
      stream->abort();
    }
    EXPECT_EQ(client.receive().status, 0);
  }
}

TEST_F(Lifetime, AStreamToAnOldClientEndsByClosing) {
  Client client(server_->port());
  client.send("GET /desk HTTP/1.0\r\n\r\n");
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto stream = visit->respond.stream(200, "text/plain");
  stream->write("all of it");
  stream->end();
  EXPECT_EQ(client.receive().headers.at("connection"), "close");
  std::string rest;
  for (std::string more; !(more = client.receive_some()).empty();) rest += more;
  EXPECT_EQ(rest, "all of it");
}

TEST_F(Lifetime, StopLetsARequestFinish) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  auto stopping = std::async(std::launch::async, [&] { server_->stop(10s); });
  ASSERT_TRUE(eventually([&] { return !Client(server_->port()).connected(); }));
  EXPECT_EQ(stopping.wait_for(50ms), std::future_status::timeout);
  visit->respond(text("just in time"));
  const auto reply = client.receive();
  EXPECT_EQ(reply.body, "just in time");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(stopping.wait_for(5s), std::future_status::ready);
}

TEST_F(Lifetime, StopCutsWhatTakesLongerThanTheGrace) {
  Client client(server_->port());
  client.send(post("/desk", "x"));
  const auto visit = desk_.next();
  ASSERT_TRUE(visit);
  const auto before = std::chrono::steady_clock::now();
  server_->stop(100ms);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 90ms);
  EXPECT_TRUE(visit->request.client_gone->load());
  EXPECT_EQ(client.receive().status, 0);
  server_->stop();
}

TEST_F(Lifetime, StopWithoutGraceIsAtOnce) {
  Client idle(server_->port());
  ASSERT_EQ(idle.exchange(get("/now")).status, 200);
  Client half(server_->port());
  half.send("GET /now HT");
  const auto before = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
  EXPECT_TRUE(idle.ends_within(5s));
  EXPECT_TRUE(half.ends_within(5s));
}

TEST_F(Lifetime, AnswersAfterTheEndAreHarmless) {
  Client first(server_->port());
  Client second(server_->port());
  Client third(server_->port());
  first.send(post("/desk", "1"));
  auto answered = desk_.next();
  second.send(post("/desk", "2"));
  auto dropped = desk_.next();
  third.send(get("/desk"));
  auto streamed = desk_.next();
  ASSERT_TRUE(answered && dropped && streamed);
  const auto stream = streamed->respond.stream(200, "text/plain");
  server_.reset();
  EXPECT_TRUE(answered->request.client_gone->load());
  answered->respond(text("too late"));
  dropped.reset();
  EXPECT_FALSE(stream->write("too late"));
  EXPECT_FALSE(stream->open());
  stream->end();
}

TEST_F(Lifetime, AnswersRaceWithTheEnd) {
  for (int round = 0; round < 20; ++round) {
    SetUp();
    std::vector<Client> clients;
    std::vector<Desk::Visit> visits;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back(server_->port());
      clients.back().send(post("/desk", "x"));
      auto visit = desk_.next();
      ASSERT_TRUE(visit);
      visits.push_back(std::move(*visit));
    }
    std::jthread answering([&visits] {
      for (auto& visit : visits) visit.respond({});
    });
    server_->stop();
  }
}

}  // namespace
}  // namespace tessera::http
