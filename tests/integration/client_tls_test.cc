// The Kubernetes client against our own HTTPS server: trust, names, client certificates and their
// rotation, streams over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "certificates.h"
#include "client/api.h"
#include "http/server.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using test::KeyPair;
using test::make_pair;

class ClientTls : public testing::Test {
 protected:
  ClientTls() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-tls-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ClientTls() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / (name + ".new"), std::ios::binary) << text;
    std::filesystem::rename(folder_ / (name + ".new"), folder_ / name);
    return (folder_ / name).string();
  }
  void serve(http::Handler handler, const std::string& client_ca = "") {
    http::ServerOptions options;
    options.cert_file = write("server.crt", server_pair_.certificate);
    options.key_file = write("server.key", server_pair_.key);
    if (!client_ca.empty()) options.tls_client_ca_file = write("ca.crt", client_ca);
    auto server = http::Server::start(
        options, {{.method = "*", .path = "/*", .handler = std::move(handler)}});
    ASSERT_TRUE(server) << server.error().what;
    server_ = *std::move(server);
  }
  client::Credentials trusted() const {
    client::Credentials credentials;
    credentials.server = "https://127.0.0.1:" + std::to_string(server_->port());
    credentials.ca_pem = server_pair_.certificate;
    credentials.tls_server_name = "api.local";
    return credentials;
  }
  client::ApiResponse call(const client::Credentials& credentials) {
    client::ApiClient api(credentials, {.user_agent = "tessera/test"}, metrics_);
    return api.call({.path = "/version"});
  }
  static void greet(http::Request&& request, const http::Responder& respond) {
    respond({.body = "{\"host\":\"" + std::string(request.header("host")) + "\"}"});
  }

  const KeyPair server_pair_ = make_pair("api.local");
  std::filesystem::path folder_;
  obs::Metrics metrics_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(ClientTls, NameAndAuthorityAreChecked) {
  serve(&ClientTls::greet);
  const client::ApiResponse good = call(trusted());
  EXPECT_TRUE(good.ok()) << good.message();
  EXPECT_EQ(good.body, "{\"host\":\"127.0.0.1:" + std::to_string(server_->port()) + "\"}")
      << "the server is addressed as configured";

  client::Credentials wrong = trusted();
  wrong.tls_server_name.clear();
  EXPECT_EQ(call(wrong).status, 0);
  EXPECT_THAT(call(wrong).error, HasSubstr("127.0.0.1"));
  wrong = trusted();
  wrong.ca_pem = make_pair("api.local").certificate;
  EXPECT_THAT(call(wrong).error, HasSubstr("certificate"));
  wrong.ca_pem.clear();
  EXPECT_THAT(call(wrong).error, HasSubstr("certificate"))
      << "the system's authorities do not know it";
  wrong.insecure = true;
  wrong.tls_server_name.clear();
  EXPECT_TRUE(call(wrong).ok()) << "unless told not to look";
}

TEST_F(ClientTls, ClientCertificateIsShown) {
  const KeyPair alice = make_pair("alice");
  serve(&ClientTls::greet, alice.certificate);
  client::Credentials credentials = trusted();
  EXPECT_EQ(call(credentials).status, 0) << "the server asks for a certificate";
  credentials.cert_pem = alice.certificate;
  credentials.key_pem = alice.key;
  EXPECT_TRUE(call(credentials).ok()) << call(credentials).message();
  const KeyPair mallory = make_pair("alice");
  credentials.cert_pem = mallory.certificate;
  credentials.key_pem = mallory.key;
  EXPECT_EQ(call(credentials).status, 0);
  credentials.key_pem = alice.key;
  EXPECT_EQ(call(credentials).status, 0) << "a key that does not belong to the certificate";
  EXPECT_NE(call(credentials).error, "");
}

TEST_F(ClientTls, WatchOverTlsGivesItsLines) {
  serve([](http::Request&&, const http::Responder& respond) {
    const std::shared_ptr<http::Stream> stream = respond.stream(200, "application/json");
    stream->write("one\ntw");
    stream->write("o\n");
    stream->end();
  });
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
  bool ended = false;
  client::ApiClient api(trusted(), {.user_agent = "tessera/test"}, metrics_);
  client::ApiClient::StreamHandlers handlers;
  handlers.on_line = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  handlers.on_end = [&](const client::ApiResponse& response) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(response.ok()) << response.error;
    ended = true;
    changed.notify_one();
  };
  api.stream({.path = "/watch"}, std::move(handlers));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return ended; }));
  EXPECT_THAT(lines, ElementsAre("one", "two"));
}

}  // namespace
}  // namespace tessera
