#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <future>
#include <thread>

#include "http/server.h"
#include "http/testing.h"

namespace tessera::http {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::eventually;
using testing::KeyPair;
using testing::make_certificate;
using testing::post;
using testing::TemporaryFolder;
using testing::TlsSetup;

TlsSetup tls() {
  TlsSetup setup;
  setup.on = true;
  return setup;
}

class Tls : public ::testing::Test {
 protected:
  Tls() { install(make_certificate("first")); }

  void install(const KeyPair& pair) {
    folder_.write("tls.crt", pair.certificate);
    folder_.write("tls.key", pair.key);
  }

  ServerOptions options() const {
    ServerOptions made;
    made.cert_file = folder_.path("tls.crt");
    made.key_file = folder_.path("tls.key");
    return made;
  }

  static Handler echoing() {
    return [](Request&& request, const Responder& respond) {
      Response response;
      response.body = std::move(request.body);
      respond(std::move(response));
    };
  }

  void start(const ServerOptions& options, Handler handler = echoing()) {
    Route echo;
    echo.method = "POST";
    echo.path = "/echo";
    echo.max_body = 8 << 20;
    echo.handler = std::move(handler);
    Route ticks;
    ticks.method = "GET";
    ticks.path = "/ticks";
    ticks.handler = [](Request&&, const Responder& respond) {
      const auto stream = respond.stream(200, "text/plain");
      for (int i = 0; i < 1000; ++i) stream->write("tick\n");
      stream->end();
    };
    auto server = Server::start(options, {std::move(echo), std::move(ticks)});
    ASSERT_TRUE(server.has_value()) << server.error().what;
    server_ = std::move(*server);
  }

  std::string name_for_new_connection() const { return Client(server_->port(), tls()).peer_name(); }

  TemporaryFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(Tls, ServesRequests) {
  start(options());
  Client client(server_->port(), tls());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.peer_name(), "first");
  for (const std::size_t size : {0u, 1u, 1000u, 20'000u, 1u << 20, 3u << 20}) {
    const std::string body(size, 'x');
    EXPECT_TRUE(client.exchange(post("/echo", body)).body == body) << size;
  }
  EXPECT_EQ(client.exchange(testing::get("/ticks")).body.size(), 5000u);
  EXPECT_EQ(client.exchange(post("/echo", "x", "Connection: close\r\n")).body, "x");
  EXPECT_TRUE(client.ends_within(5s));
}

TEST_F(Tls, RefusesOldVersions) {
  start(options());
  TlsSetup old = tls();
  old.highest_version = TLS1_1_VERSION;
  EXPECT_FALSE(Client(server_->port(), old).connected());
  TlsSetup allowed = tls();
  allowed.highest_version = TLS1_2_VERSION;
  EXPECT_EQ(Client(server_->port(), allowed).exchange(post("/echo", "x")).body, "x");
}

TEST_F(Tls, PlainTextGetsNowhere) {
  start(options());
  Client plain(server_->port());
  EXPECT_EQ(plain.exchange(post("/echo", "x")).status, 0);
  EXPECT_EQ(Client(server_->port(), tls()).exchange(post("/echo", "x")).body, "x");
}

TEST_F(Tls, ASilentHandshakeTimesOut) {
  auto impatient = options();
  impatient.request_timeout = 200ms;
  start(impatient);
  Client silent(server_->port());
  EXPECT_TRUE(silent.ends_within(5s));
}

TEST_F(Tls, TooLargeReachesAClientThatSendsOn) {
  start(options());
  Client client(server_->port(), tls());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
  client.send(std::string(100'000, 'x'));
  EXPECT_EQ(client.receive().status, 413);
  EXPECT_TRUE(client.ends_within(5s));
}

TEST_F(Tls, NewConnectionsGetTheNewCertificateOldOnesLiveOn) {
  start(options());
  Client old(server_->port(), tls());
  ASSERT_EQ(old.exchange(post("/echo", "before")).body, "before");
  install(make_certificate("second"));
  ASSERT_TRUE(server_->reload_certificate().has_value());
  EXPECT_EQ(name_for_new_connection(), "second");
  EXPECT_EQ(old.exchange(post("/echo", "after")).body, "after");
  EXPECT_EQ(old.peer_name(), "first");
}

TEST_F(Tls, AChangeIsNoticedWithoutBeingTold) {
  // As kubelet mounts a secret: the files are links through a folder that is swapped.
  namespace fs = std::filesystem;
  const auto fill = [&](const char* generation, const KeyPair& pair) {
    fs::create_directory(folder_.path(generation));
    folder_.write(std::string(generation) + "/tls.crt", pair.certificate);
    folder_.write(std::string(generation) + "/tls.key", pair.key);
  };
  fill("..1", make_certificate("mounted first"));
  fill("..2", make_certificate("mounted second"));
  fs::create_directory_symlink("..1", folder_.path("..data"));
  fs::create_directory(folder_.path("mount"));
  fs::create_symlink("../..data/tls.crt", folder_.path("mount/tls.crt"));
  fs::create_symlink("../..data/tls.key", folder_.path("mount/tls.key"));
  auto polling = options();
  polling.cert_file = folder_.path("mount/tls.crt");
  polling.key_file = folder_.path("mount/tls.key");
  polling.cert_poll = 20ms;
  start(polling);
  EXPECT_EQ(name_for_new_connection(), "mounted first");
  fs::create_directory_symlink("..2", folder_.path("..data_next"));
  fs::rename(folder_.path("..data_next"), folder_.path("..data"));
  EXPECT_TRUE(eventually([&] { return name_for_new_connection() == "mounted second"; }));
}

TEST_F(Tls, APairThatDoesNotMatchIsKeptOut) {
  auto polling = options();
  polling.cert_poll = 20ms;
  start(polling);
  const auto second = make_certificate("second");
  folder_.write("tls.crt", second.certificate);
  for (int i = 0; i < 2; ++i) {
    const auto status = server_->reload_certificate();
    ASSERT_FALSE(status.has_value());
    EXPECT_NE(status.error().what.find("does not belong to the certificate"), std::string::npos);
  }
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(name_for_new_connection(), "first");
  folder_.write("tls.key", second.key);
  EXPECT_TRUE(eventually([&] { return name_for_new_connection() == "second"; }));
}

TEST_F(Tls, BrokenFilesAreKeptOutAndNamed) {
  start(options());
  const auto good = make_certificate("second");
  const std::pair<const char*, const char*> rows[] = {
      {"tls.crt", ""}, {"tls.crt", "no PEM"}, {"tls.key", ""}, {"tls.key", "no PEM"}};
  for (const auto& [name, text] : rows) {
    install(good);
    folder_.write(name, text);
    const auto status = server_->reload_certificate();
    ASSERT_FALSE(status.has_value()) << name;
    EXPECT_NE(status.error().what.find(folder_.path(name)), std::string::npos)
        << status.error().what;
    EXPECT_EQ(name_for_new_connection(), "first");
  }
  std::filesystem::remove(folder_.path("tls.key"));
  EXPECT_FALSE(server_->reload_certificate().has_value());
  install(good);
  EXPECT_TRUE(server_->reload_certificate().has_value());
  EXPECT_EQ(name_for_new_connection(), "second");
}

TEST_F(Tls, ABadPairAtTheStartIsFatal) {
  folder_.write("tls.key", make_certificate("other").key);
  const auto server = Server::start(options(), {});
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().what.find(folder_.path("tls.key")), std::string::npos);
}

TEST_F(Tls, ReloadsWhileClientsComeAndGo) {
  auto two = options();
  two.threads = 2;
  start(two);
  const KeyPair pairs[] = {make_certificate("first"), make_certificate("second")};
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::async(std::launch::async, [this] {
      int good = 0;
      for (int round = 0; round < 20; ++round) {
        good += Client(server_->port(), tls()).exchange(post("/echo", "x")).body == "x";
      }
      return good;
    }));
  }
  for (int i = 0; i < 20; ++i) {
    install(pairs[i % 2]);
    EXPECT_TRUE(server_->reload_certificate().has_value());
  }
  for (auto& client : clients) EXPECT_EQ(client.get(), 20);
}

TEST_F(Tls, WithAClientAuthorityOnlyItsClientsGetIn) {
  const auto authority = make_certificate("the authority");
  folder_.write("ca.crt", authority.certificate);
  auto mutual = options();
  mutual.tls_client_ca_file = folder_.path("ca.crt");
  start(mutual);
  TlsSetup known = tls();
  known.identity = authority;
  EXPECT_EQ(Client(server_->port(), known).exchange(post("/echo", "x")).body, "x");
  TlsSetup stranger = tls();
  stranger.identity = make_certificate("stranger");
  EXPECT_EQ(Client(server_->port(), stranger).exchange(post("/echo", "x")).status, 0);
  EXPECT_EQ(Client(server_->port(), tls()).exchange(post("/echo", "x")).status, 0);
}

/// What the handler is told of the client: "verified NAME", "NAME: problem", or "not asked".
Handler tell_client() {
  return [](Request&& request, const Responder& respond) {
    const auto& client = request.certificate;
    std::string words = "not asked";
    if (client)
      words = client->verified ? "verified " + client->name : client->name + ": " + client->problem;
    respond({.body = std::move(words)});
  };
}

TEST_F(Tls, ClientsThatAreOnlyAskedGetInAndTheHandlerIsTold) {
  const auto authority = make_certificate("authority", {.authority = true});
  const auto other = make_certificate("authority", {.authority = true});
  folder_.write("ca.crt", authority.certificate);
  auto asking = options();
  asking.tls_client_ca_file = folder_.path("ca.crt");
  asking.tls_client_required = false;
  start(asking, tell_client());
  struct Row {
    const char* name;
    KeyPair identity;
    std::string told;
  };
  const Row rows[] = {
      {"signed by it", make_certificate("a", {.issuer = &authority}), "verified a"},
      {"for clients", make_certificate("b", {.issuer = &authority, .usage = "clientAuth"}),
       "verified b"},
      {"none", {}, ": none was shown"},
      {"for servers only", make_certificate("c", {.issuer = &authority, .usage = "serverAuth"}),
       "c: unsuitable certificate purpose"},
      {"too old", make_certificate("d", {.issuer = &authority, .expired = true}),
       "d: certificate has expired"},
      {"signed by itself", make_certificate("e"), "e: self-signed certificate"},
      {"signed by another of that name", make_certificate("f", {.issuer = &other}),
       "f: certificate signature failure"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      TlsSetup setup = tls();
      setup.highest_version = version;
      setup.identity = row.identity;
      Client client(server_->port(), setup);
      EXPECT_EQ(client.exchange(post("/echo", "x")).body, row.told);
      EXPECT_EQ(client.exchange(post("/echo", "x")).body, row.told) << "the same connection again";
    }
  }
}

TEST_F(Tls, ClientsThatAreNotAskedHaveNothingToShow) {
  start(options(), tell_client());
  TlsSetup eager = tls();
  eager.identity = make_certificate("a");
  EXPECT_EQ(Client(server_->port(), eager).exchange(post("/echo", "x")).body, "not asked");
}

TEST_F(Tls, AnotherClientAuthorityCountsForNewConnections) {
  const auto first = make_certificate("first authority", {.authority = true});
  const auto second = make_certificate("second authority", {.authority = true});
  folder_.write("ca.crt", first.certificate);
  auto asking = options();
  asking.cert_poll = 20ms;
  asking.tls_client_ca_file = folder_.path("ca.crt");
  asking.tls_client_required = false;
  start(asking, tell_client());
  TlsSetup old_client = tls(), new_client = tls();
  old_client.identity = make_certificate("old", {.issuer = &first});
  new_client.identity = make_certificate("new", {.issuer = &second});
  const auto told = [&](const TlsSetup& setup) {
    return Client(server_->port(), setup).exchange(post("/echo", "x")).body;
  };
  EXPECT_EQ(told(old_client), "verified old");
  EXPECT_NE(told(new_client), "verified new");
  folder_.write("ca.crt", "no PEM");
  ASSERT_FALSE(server_->reload_certificate().has_value());
  EXPECT_EQ(told(old_client), "verified old") << "a bad file is kept out";
  folder_.write("ca.crt", first.certificate + second.certificate);
  EXPECT_TRUE(eventually([&] { return told(new_client) == "verified new"; }));
  EXPECT_EQ(told(old_client), "verified old");
  folder_.write("ca.crt", second.certificate);
  EXPECT_TRUE(eventually([&] { return told(old_client) != "verified old"; }));
  EXPECT_EQ(told(new_client), "verified new");
}

TEST_F(Tls, StopsWithConnectionsInEveryState) {
  start(options());
  Client idle(server_->port(), tls());
  ASSERT_EQ(idle.exchange(post("/echo", "x")).body, "x");
  Client half(server_->port(), tls());
  half.send("POST /ec");
  Client silent(server_->port());
  server_->stop(50ms);
  EXPECT_TRUE(idle.ends_within(5s));
  EXPECT_TRUE(half.ends_within(5s));
  EXPECT_TRUE(silent.ends_within(5s));
}

}  // namespace
}  // namespace tessera::http
