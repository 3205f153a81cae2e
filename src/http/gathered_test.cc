// Answers whose pieces lie elsewhere: they must arrive like any other text, and what keeps them
// must go when they have.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "http/testing.h"

namespace tessera::http {
namespace {

using testing::Client;
using testing::eventually;
using testing::get;
using testing::make_certificate;
using testing::TemporaryFolder;
using testing::TlsSetup;

/// Pieces of many lengths, the empty one and one longer than any socket buffer among them.
std::vector<std::string> texts(std::size_t count) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.emplace_back((i * 7919) % 40'000, static_cast<char>('a' + i % 26));
  }
  if (count > 5) made[5] = "";
  if (count > 9) made[9] = std::string(std::size_t{6} << 20, '!');
  return made;
}

class Gathering : public ::testing::TestWithParam<bool> {
 protected:
  void serve(std::size_t count, std::string front) {
    texts_ = texts(count);
    Route route;
    route.method = "*";
    route.path = "/";
    route.handler = [this, front](Request&&, const Responder& respond) {
      respond({.body = front, .rest = gathered()});
    };
    ServerOptions options;
    if (GetParam()) {
      const auto pair = make_certificate("us");
      folder_.write("tls.crt", pair.certificate);
      folder_.write("tls.key", pair.key);
      options.cert_file = folder_.path("tls.crt");
      options.key_file = folder_.path("tls.key");
    }
    auto server = Server::start(options, {std::move(route)});
    ASSERT_TRUE(server.has_value()) << server.error().what;
    server_ = std::move(*server);
    whole_ = front;
    for (const std::string& text : texts_) whole_ += text;
  }

  Gathered gathered() {
    Gathered made;
    const auto owner = std::shared_ptr<const std::vector<std::string>>(
        new std::vector<std::string>(texts_), [this](const std::vector<std::string>* gone) {
          delete gone;
          ++freed_;
        });
    for (const std::string& text : *owner) made.pieces.emplace_back(text);
    made.owner = owner;
    return made;
  }

  Client client() const {
    TlsSetup tls;
    tls.on = GetParam();
    return Client(server_->port(), tls);
  }

  TemporaryFolder folder_;
  std::vector<std::string> texts_;
  std::string whole_;
  std::atomic<int> freed_{0};
  std::unique_ptr<Server> server_;
};

TEST_P(Gathering, ArrivesWholeAndInOrder) {
  for (const std::size_t count : {1U, 2U, 14U, 15U, 16U, 17U, 200U}) {
    serve(count, count % 2 == 0 ? "front" : "");
    Client one = client();
    for (int i = 0; i < 2; ++i) {
      const auto reply = one.exchange(get("/"));
      EXPECT_EQ(reply.status, 200);
      EXPECT_TRUE(reply.body == whole_) << count << " pieces";
    }
  }
}

TEST_P(Gathering, NothingButEmptyPiecesIsAnEmptyBody) {
  serve(1, "");
  EXPECT_EQ(client().exchange(get("/")).headers.at("content-length"), "0");
}

TEST_P(Gathering, IsKeptUntilSentAndNoLonger) {
  serve(20, "front");
  Client one = client();
  one.exchange(get("/"));
  EXPECT_TRUE(eventually([&] { return freed_ == 1; }));
  one.exchange(get("/"));
  EXPECT_TRUE(eventually([&] { return freed_ == 2; }));
}

TEST_P(Gathering, GoesWithAClientThatLeaves) {
  serve(20, "front");
  Client one = client();
  one.send(get("/"));
  one.receive_some();
  one.reset();
  EXPECT_TRUE(eventually([&] { return freed_ == 1; }));
}

TEST_P(Gathering, TheHeadAloneTellsItsLength) {
  serve(20, "front");
  Client one = client();
  one.send("HEAD / HTTP/1.1\r\nHost: us\r\n\r\n");
  const auto reply = one.receive(true);
  EXPECT_EQ(reply.headers.at("content-length"), std::to_string(whole_.size()));
  EXPECT_TRUE(one.exchange(get("/")).body == whole_) << "no byte of a body came before";
}

INSTANTIATE_TEST_SUITE_P(PlainAndTls, Gathering, ::testing::Bool());

}  // namespace
}  // namespace tessera::http
