// Long answers made while they are sent: whole, in every form, for slow and leaving clients.
#include "http/pieces.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "http/metrics_answer.h"
#include "http/testing.h"

namespace tessera::http {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::eventually;
using testing::get;

/// A producer's thread: tasks one after the other.
class Tasks {
 public:
  Tasks() : thread_([this](const std::stop_token& stop) { work(stop); }) {}
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  /// What waits is dropped, and all that comes.
  void close() {
    std::deque<std::function<void()>> dropped;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(tasks_);
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  bool closed_ = false;
  std::jthread thread_;  // last: it uses everything above
};

struct Counts {
  std::atomic<int> made{0}, alive{0};
};

/// So many pieces of equal size, the last of which may be a broken one.
class Counting final : public PieceSource {
 public:
  Counting(Counts& counts, int pieces, std::size_t size, Piece last = Piece::kLast)
      : counts_(counts), left_(pieces), size_(size), last_(last) {
    ++counts_.alive;
  }
  ~Counting() override { --counts_.alive; }
  Piece next(std::string& piece) override {
    piece.append(size_, 'x');
    ++counts_.made;
    return --left_ > 0 ? Piece::kMore : last_;
  }

 private:
  Counts& counts_;
  int left_;
  const std::size_t size_;
  const Piece last_;
};

/// A page in pieces of whole lines.
class Lines final : public PieceSource {
 public:
  explicit Lines(std::string page) : page_(std::move(page)) {}
  Piece next(std::string& piece) override {
    std::size_t end = page_.size();
    if (end - at_ > kPieceSize) end = page_.rfind('\n', at_ + kPieceSize) + 1;
    piece.append(page_, at_, end - at_);
    at_ = end;
    return at_ == page_.size() ? Piece::kLast : Piece::kMore;
  }

 private:
  const std::string page_;
  std::size_t at_ = 0;
};

std::string page_of(int rows) {
  std::string page;
  for (int i = 0; i < rows; ++i) {
    if (i % 1000 == 0) page += "# HELP a_total An a.\n# TYPE a_total counter\n";
    page += "a_total{n=\"" + std::to_string(i * 7919) + "\"} " + std::to_string(i) + "\n";
  }
  return page;
}

std::string unpacked(std::string packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int code = Z_OK;
  while (code == Z_OK) {
    const std::size_t begin = out.size();
    out.resize(begin + 65536);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = 65536;
    code = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  EXPECT_EQ(code, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U) << "nothing follows the packed text";
  inflateEnd(&stream);
  return out;
}

constexpr std::size_t kLarge = 512;  // pieces: 128 MiB, far beyond what sockets hold

class Pieces : public ::testing::Test {
 protected:
  void serve(ServerOptions options = {}) {
    const auto count = [this](int pieces, std::size_t size, Piece last = Piece::kLast) {
      return [=, this](Request&&, Responder respond) {
        tasks_.post([=, this] {
          send_pieces(respond, {.content_type = "text/plain", .body = {}, .headers = {}},
                      std::make_unique<Counting>(counts_, pieces, size, last), producer(), limit_);
        });
      };
    };
    std::vector<Route> routes(4);
    routes[0].handler = [this](Request&& request, Responder respond) {
      tasks_.post([this, respond, form = metrics_form(request)] {
        send_metrics(respond, form, std::make_unique<Lines>(page_), producer());
      });
    };
    routes[0].path = "/page";
    routes[1].handler = count(static_cast<int>(kLarge), kPieceSize);
    routes[1].path = "/large";
    routes[2].handler = count(3, 1000, Piece::kBroken);
    routes[2].path = "/broken";
    routes[3].handler = count(5, 64 << 20);
    routes[3].path = "/huge-pieces";
    for (Route& route : routes) route.method = "GET";
    auto server = Server::start(std::move(options), std::move(routes));
    ASSERT_TRUE(server.has_value());
    server_ = std::move(*server);
  }
  Producer producer() {
    return [this](std::function<void()> task) { tasks_.post(std::move(task)); };
  }
  /// Until nothing more is made: what the sockets hold is full.
  int made_at_rest() {
    int before = -1;
    while (before != counts_.made) {
      before = counts_.made;
      std::this_thread::sleep_for(200ms);
    }
    return before;
  }

  Counts counts_;
  std::string page_;
  std::chrono::milliseconds limit_ = kLongAnswerTime;
  Tasks tasks_;
  std::unique_ptr<Server> server_;
};

TEST_F(Pieces, JoinedAreThePageInEveryForm) {
  serve();
  for (const int rows : {0, 3, 2000, 200'000}) {
    page_ = page_of(rows);
    const bool long_one = page_.size() > kPieceSize;
    for (const bool packed : {false, true}) {
      for (const bool open : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " rows" << (packed ? ", packed" : "") << (open ? ", open" : ""));
        std::string fields = packed ? "Accept-Encoding: gzip\r\n" : "";
        if (open) fields += "Accept: application/openmetrics-text\r\n";
        Client client(server_->port());
        const auto reply = client.exchange(get("/page", fields));
        const Response whole = metrics_answer(page_, {.open = open, .packed = false});
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(reply.headers.at("content-type"), whole.content_type);
        EXPECT_EQ(reply.headers.contains("transfer-encoding"), long_one);
        EXPECT_EQ(reply.headers.contains("content-length"), !long_one);
        const bool was_packed = reply.headers.contains("content-encoding");
        EXPECT_EQ(was_packed, packed && page_.size() >= 1024);
        EXPECT_EQ(reply.headers.contains("vary"), was_packed);
        EXPECT_TRUE((was_packed ? unpacked(reply.body) : reply.body) == whole.body);
        if (was_packed) {
          EXPECT_LT(reply.body.size(), page_.size() / 2);
        }
        EXPECT_EQ(client.exchange(get("/page")).status, 200) << "the connection goes on";
      }
    }
  }
}

TEST_F(Pieces, AnOldClientGetsThePageUntilTheEnd) {
  serve();
  page_ = page_of(100'000);
  Client client(server_->port());
  client.send("GET /page HTTP/1.0\r\n\r\n");
  const auto head = client.receive();
  EXPECT_EQ(head.status, 200);
  EXPECT_FALSE(head.headers.contains("transfer-encoding"));
  EXPECT_EQ(head.headers.at("connection"), "close");
  std::string body;
  for (std::string more; !(more = client.receive_some()).empty();) body += more;
  EXPECT_TRUE(body == page_);
}

TEST_F(Pieces, AClientThatHasFinishedSendingGetsAllOfIt) {
  serve();
  page_ = page_of(100'000);
  Client client(server_->port());
  client.send(get("/page"));
  client.finish_sending();
  const auto reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body == page_);
  EXPECT_TRUE(client.ends_within(5s));
}

TEST_F(Pieces, TheHeadAloneIsThatOfThePage) {
  serve();
  for (const int rows : {3, 100'000}) {
    page_ = page_of(rows);
    Client client(server_->port());
    auto whole = client.exchange(get("/page"));
    client.send("HEAD /page HTTP/1.1\r\nHost: x\r\n\r\n");
    auto head = client.receive(true);
    whole.headers.erase("date");
    head.headers.erase("date");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.headers, whole.headers);
    EXPECT_TRUE(client.exchange(get("/page")).body == page_) << "no byte of a body came before";
  }
  Client client(server_->port());
  client.send("HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive(true).status, 200);
  EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
  EXPECT_LE(counts_.made, 1) << "none when the head was out before";
}

TEST_F(Pieces, AClientThatDoesNotReadHoldsAPieceAndNobodyElse) {
  serve();
  page_ = page_of(100'000);
  Client slow(server_->port());
  slow.send(get("/large"));
  ASSERT_TRUE(eventually([&] { return counts_.made > 0; }));
  const int made = made_at_rest();
  EXPECT_LT(made, static_cast<int>(kLarge) / 4) << "what sockets hold, and one";
  EXPECT_EQ(counts_.alive, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Client(server_->port()).exchange(get("/page")).body == page_);
  }
  EXPECT_EQ(counts_.made, made);
  const auto reply = slow.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.size(), kLarge * kPieceSize);
  EXPECT_EQ(counts_.made, static_cast<int>(kLarge));
  EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
}

TEST_F(Pieces, TwoAtTheSameTimeAreBothWhole) {
  serve({.threads = 2});
  page_ = page_of(200'000);
  std::atomic<int> whole{0};
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        Client client(server_->port());
        for (int n = 0; n < 3; ++n) whole += client.exchange(get("/page")).body == page_ ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(whole, 12);
}

TEST_F(Pieces, AClientThatLeavesEndsTheSource) {
  serve();
  for (const bool rude : {false, true}) {
    Client client(server_->port());
    client.send(get("/large"));
    ASSERT_TRUE(eventually([&] { return counts_.alive == 1 && counts_.made > 0; }));
    made_at_rest();
    if (rude) client.reset();
    { const Client gone = std::move(client); }
    EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
    counts_.made = 0;
  }
}

TEST_F(Pieces, WhoStandsStillOrTricklesIsCut) {
  serve({.idle_timeout = 300ms});
  for (const std::string path : {"/large", "/huge-pieces"}) {
    Client client(server_->port());
    client.send(get(path));
    ASSERT_TRUE(eventually([&] { return counts_.alive == 1 && counts_.made > 0; }));
    const bool trickles = path == "/huge-pieces";
    EXPECT_TRUE(eventually([&] {
      // Faster than the idle time, too slow for a piece.
      if (trickles) client.receive_some();
      std::this_thread::sleep_for(2ms);
      return counts_.alive == 0;
    })) << path;
    if (trickles) {
      EXPECT_EQ(counts_.made, 1);
    }
    counts_.made = 0;
  }
}

TEST_F(Pieces, TheWholeHasItsTime) {
  serve();
  limit_ = 0ms;
  Client client(server_->port());
  EXPECT_EQ(client.exchange(get("/large")).status, 0);
  EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
}

TEST_F(Pieces, HalfAnAnswerDoesNotLookWhole) {
  serve();
  EXPECT_EQ(Client(server_->port()).exchange(get("/broken")).status, 0);
  Client client(server_->port());
  client.send(get("/large"));
  ASSERT_TRUE(eventually([&] { return counts_.alive == 1 && counts_.made > 1; }));
  made_at_rest();
  tasks_.close();  // the producer stops: nobody makes the rest
  EXPECT_EQ(client.receive().status, 0);
  EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
}

TEST_F(Pieces, TheEndOfTheServerEndsTheSource) {
  serve();
  Client client(server_->port());
  client.send(get("/large"));
  ASSERT_TRUE(eventually([&] { return counts_.alive == 1 && counts_.made > 1; }));
  server_->stop();
  EXPECT_TRUE(eventually([&] { return counts_.alive == 0; }));
  EXPECT_EQ(client.receive().status, 0);
}

}  // namespace
}  // namespace tessera::http
