// Who may call the extender (case 182): tokens, client certificates, what stays open, what a caller
// without either is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "certificates.h"
#include "harness.h"

namespace tessera {
namespace {

using testing::HasSubstr;

class Callers : public test::ClusterTest {
 protected:
  Callers() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-callers-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    options_.cert_poll = std::chrono::milliseconds(20);
  }
  ~Callers() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / (name + ".new"), std::ios::binary) << text;
    std::filesystem::rename(folder_ / (name + ".new"), folder_ / name);
    return (folder_ / name).string();
  }
  void call_as(client::Credentials credentials) {
    const bool secure = !options_.cert_file.empty();
    credentials.server =
        (secure ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_->port());
    credentials.insecure = true;
    http_ = std::make_unique<client::ApiClient>(credentials, client::ApiClientOptions{.qps = -1},
                                                metrics_);
  }
  void serve_tls() {
    const test::KeyPair pair = test::make_pair("tessera");
    options_.cert_file = write("server.crt", pair.certificate);
    options_.key_file = write("server.key", pair.key);
  }
  client::ApiResponse post(const std::string& path, const std::string& body = "{}") {
    return http_->call({.method = "POST", .path = path, .body = body});
  }

  std::filesystem::path folder_;
};

TEST_F(Callers, WithoutEitherOptionEverybodyMayAsBefore) {
  add_node("n1");
  start_server();
  add_pod("a");
  settle();
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(Callers, Case182ATokenOpensWhatIsClosedToOthers) {
  options_.extender_token_file = write("tokens", "first-token\n\n  second-token \n");
  add_node("n1");
  start_server();
  const std::string uid = add_pod("a");
  settle();

  call_as({});
  const test::FilterAnswer refused = filter("a", {"n1"});
  EXPECT_EQ(refused.status, 200) << "kube-scheduler reads nothing else";
  EXPECT_EQ(refused.error,
            "caller is not known: /filter needs a token of --extender-token-file in the header "
            "Authorization: Bearer (none was sent)");
  EXPECT_THAT(bind("a", uid, "n1"), HasSubstr("none was sent"));
  EXPECT_EQ(bound_node("a"), "");
  EXPECT_EQ(post("/v1/simulate").status, 401);
  EXPECT_THAT(post("/v1/simulate").body, HasSubstr("caller is not known"));
  EXPECT_EQ(get("/v1/explain?name=a").status, 401);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/metrics").status, 200);
  EXPECT_THAT(post("/webhook", "not a review").body,
              testing::Not(HasSubstr("caller is not known")));
  EXPECT_EQ(metric("tessera_callers_refused_total{path=\"/bind\"}"), 1);
  EXPECT_EQ(metric("tessera_callers_refused_total{path=\"/filter\"}"), 1);

  call_as({.token = "another"});
  EXPECT_THAT(filter("a", {"n1"}).error, HasSubstr("the one that was sent is unknown"));
  for (const char* token : {"first-token", "second-token"}) {
    call_as({.token = token});
    EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"}) << token;
    EXPECT_EQ(get("/v1/explain?name=a").status, 200);
  }
  EXPECT_EQ(bind("a", uid, "n1"), "");
  EXPECT_EQ(bound_node("a"), "n1");
}

TEST_F(Callers, TokensAreReadAgainABadFileIsKeptOut) {
  const std::string path = write("tokens", "old");
  options_.extender_token_file = path;
  start_server();
  const auto good = [this](const std::string& token) {
    call_as({.token = token});
    return get("/v1/explain?name=a").status != 401;
  };
  EXPECT_TRUE(good("old"));
  write("tokens", "new");
  EXPECT_TRUE(eventually([&] { return good("new"); }));
  EXPECT_FALSE(good("old"));
  write("tokens", " \n");
  EXPECT_FALSE(server_->reload_certificate());
  EXPECT_TRUE(good("new"));
}

TEST_F(Callers, Case182AClientCertificateIsAskedForAndOpensTheSamePaths) {
  const test::KeyPair known = test::make_pair("kube-scheduler");
  const test::KeyPair stranger = test::make_pair("kube-scheduler");
  serve_tls();
  options_.extender_client_ca = write("ca.crt", known.certificate);
  add_node("n1");
  start_server();
  call_as({});
  const std::string uid = add_pod("a");
  settle();

  EXPECT_EQ(filter("a", {"n1"}).error,
            "caller is not known: /filter needs a client certificate signed by the authority in "
            "--extender-client-ca (none was shown)");
  EXPECT_EQ(get("/readyz").status, 200) << "the kubelet has no certificate";
  EXPECT_THAT(post("/webhook", "not a review").body,
              testing::Not(HasSubstr("caller is not known")));
  call_as({.cert_pem = stranger.certificate, .key_pem = stranger.key});
  EXPECT_THAT(bind("a", uid, "n1"), HasSubstr("self-signed certificate"));
  EXPECT_EQ(get("/readyz").status, 200) << "an API server may show a certificate of its own";
  call_as({.cert_pem = known.certificate, .key_pem = known.key});
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("a", uid, "n1"), "");

  write("ca.crt", stranger.certificate);
  EXPECT_TRUE(eventually([&] {
    call_as({.cert_pem = stranger.certificate, .key_pem = stranger.key});
    return filter("a", {"n1"}).error.empty();
  })) << "the authority rotates without a restart";
}

TEST_F(Callers, EitherOfBothIsEnough) {
  const test::KeyPair known = test::make_pair("kube-scheduler");
  serve_tls();
  options_.extender_client_ca = write("ca.crt", known.certificate);
  options_.extender_token_file = write("tokens", "token");
  start_server();
  call_as({});
  const std::string told = get("/v1/explain?name=a").body;
  EXPECT_THAT(told, HasSubstr("(none was shown), or a token of"));
  call_as({.token = "token"});
  EXPECT_EQ(get("/v1/explain?name=a").status, 404);
  call_as({.cert_pem = known.certificate, .key_pem = known.key});
  EXPECT_EQ(get("/v1/explain?name=a").status, 404);
}

TEST_F(Callers, ALargeBodyOfAStrangerIsNotRead) {
  options_.extender_token_file = write("tokens", "token");
  start_server();
  call_as({});
  const client::ApiResponse answer =
      post("/filter", std::string(options_.extender_max_body + 1, ' '));
  EXPECT_THAT(answer.body, HasSubstr("caller is not known")) << answer.message();
}

TEST_F(Callers, OptionsThatCannotWorkAreRefusedAtTheStart) {
  const auto told = [this] {
    const auto server = service::Server::start(options_, {.server = api_->url()}, clock_);
    return server ? std::string() : server.error().what;
  };
  options_.extender_client_ca = write("ca.crt", test::make_pair("a").certificate);
  EXPECT_THAT(told(), HasSubstr("--extender-client-ca is given without --cert_file"));
  serve_tls();
  options_.extender_client_ca = write("ca.crt", "no PEM");
  EXPECT_THAT(told(), HasSubstr("holds no certificate"));
  options_.extender_client_ca.clear();
  options_.extender_token_file = write("tokens", "two words");
  EXPECT_THAT(told(), HasSubstr("line 1 holds a character that no token has"));
  options_.extender_token_file = write("tokens", "\n");
  EXPECT_THAT(told(), HasSubstr("holds no token"));
  options_.extender_token_file = (folder_ / "nowhere").string();
  EXPECT_THAT(told(), HasSubstr("nowhere\": No such file or directory"));
  options_.extender_token_file = folder_.string();
  EXPECT_THAT(told(), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace tessera
