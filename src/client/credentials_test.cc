#include "client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/text.h"
#include "client/secrets.h"

namespace tessera::client {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
constexpr const char* kKeyPem = "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n";

/// A directory of the test that is removed at its end.
class Directory {
 public:
  Directory() {
    std::string name = testing::TempDir() + "tessera-client-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Written beside and moved over, as kubelet and certificate tools do.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name + ".new"), std::ios::binary) << content;
    std::filesystem::rename(path(name + ".new"), path(name));
    return path(name);
  }
  void remove(const std::string& name) const { std::filesystem::remove(path(name)); }

 private:
  std::string path_;
};

std::string config(const std::string& cluster, const std::string& user,
                   const std::string& context = "cluster: local, user: admin") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: ctx\nclusters: [{name: local, cluster: {" +
         cluster + "}}]\nusers: [{name: admin, user: {" + user +
         "}}]\ncontexts: [{name: ctx, context: {" + context + "}}]\n";
}
const std::string kServer = "server: 'https://10.0.0.1:6443'";

TEST(Kubeconfig, EmbeddedData) {
  const std::string ca = text::base64_encode(kPem), key = text::base64_encode(kKeyPem);
  const auto got = parse_kubeconfig(
      config(kServer + ", certificate-authority-data: " + ca +
                 ", tls-server-name: api.local, proxy-url: 'http://outbound.local:3128'",
             "client-certificate-data: " + ca + ", client-key-data: " + key,
             "cluster: local, user: admin, namespace: team-a"),
      "/etc/k");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->server, "https://10.0.0.1:6443");
  EXPECT_EQ(got->ca_pem, kPem);
  EXPECT_EQ(got->cert_pem, kPem);
  EXPECT_EQ(got->key_pem, kKeyPem);
  EXPECT_EQ(got->tls_server_name, "api.local");
  EXPECT_EQ(got->proxy_url, "http://outbound.local:3128");
  EXPECT_EQ(got->default_namespace, "team-a");
  EXPECT_FALSE(got->insecure);
}

TEST(Kubeconfig, FilesRelativeToTheConfigOrAbsolute) {
  const auto got = parse_kubeconfig(
      config(kServer + ", certificate-authority: pki/ca.crt",
             "client-certificate: /abs/c.crt, client-key: k.key, tokenFile: ../token"),
      "/etc/k");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->ca_file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(got->cert_file, "/abs/c.crt");
  EXPECT_EQ(got->key_file, "/etc/k/k.key");
  EXPECT_EQ(got->token_file, "/etc/k/../token");
}

TEST(Kubeconfig, TokenInsecureAndTrailingSlash) {
  const auto got = parse_kubeconfig(
      config("server: 'https://h/', insecure-skip-tls-verify: true", "token: abc.def"), ".");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->server, "https://h");
  EXPECT_EQ(got->token, "abc.def");
  EXPECT_TRUE(got->insecure);
}

TEST(Kubeconfig, JsonIsYamlToo) {
  const auto got = parse_kubeconfig(
      R"({"kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":""}}],"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}]})",
      ".");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->server, "http://127.0.0.1:1");
}

TEST(Kubeconfig, ContextCanBeChosen) {
  const std::string two =
      "current-context: a\ncontexts:\n- {name: a, context: {cluster: ca}}\n- {name: b, context: "
      "{cluster: cb}}\n"
      "clusters:\n- {name: ca, cluster: {server: 'https://a'}}\n- {name: cb, cluster: {server: "
      "'https://b'}}\n";
  EXPECT_EQ(parse_kubeconfig(two, ".").value().server, "https://a");
  EXPECT_EQ(parse_kubeconfig(two, ".", "b").value().server, "https://b");
  EXPECT_EQ(parse_kubeconfig(two, ".", "c").error().what, "contexts: no entry is named \"c\"");
}

struct Fault {
  const char* name;
  std::string yaml;
  const char* error;
};

TEST(Kubeconfig, FaultsNameFieldAndValue) {
  const std::string pem = text::base64_encode(kPem);
  const Fault faults[] = {
      {"empty", "", "not a mapping"},
      {"a list", "[1, 2]", "not a mapping"},
      {"not YAML", "a: [1", "not YAML: line 1, column"},
      {"tab", "a:\n\t- b", "not YAML: line 2"},
      {"other kind", "kind: Pod", "kind: \"Pod\" is not Config"},
      {"no context", "kind: Config", "current-context: missing"},
      {"context is a list", "current-context: [a]", "current-context: not a text"},
      {"no contexts", "current-context: a", "contexts: not a list"},
      {"unknown context", "current-context: a\ncontexts: [{name: b}]",
       "contexts: no entry is named \"a\""},
      {"entry is a text", "current-context: a\ncontexts: [a]", "contexts: no entry is named \"a\""},
      {"entry without body", "current-context: a\ncontexts: [{name: a}]",
       "contexts[a].context: not a mapping"},
      {"name is a list", "current-context: a\ncontexts: [{name: [a]}]",
       "contexts[0].name: not a text"},
      {"name twice",
       "current-context: a\ncontexts: [{name: a, context: {}}, {name: a, context: {}}]",
       "contexts: name \"a\" is given twice"},
      {"context without cluster", config(kServer, "", "user: admin"),
       "contexts[ctx].context.cluster: missing"},
      {"unknown cluster", config(kServer, "", "cluster: other"),
       "clusters: no entry is named \"other\""},
      {"unknown user", config(kServer, "", "cluster: local, user: bob"),
       "users: no entry is named \"bob\""},
      {"bad namespace", config(kServer, "", "cluster: local, namespace: 'a/b'"),
       "contexts[ctx].context.namespace: \"a/b\" is not a namespace"},
      {"no server", config("", ""), "clusters[local].cluster.server: missing"},
      {"server without scheme", config("server: '10.0.0.1:6443'", ""),
       "clusters[local].cluster.server: \"10.0.0.1:6443\": not a URL"},
      {"server is a map", config("server: {a: b}", ""),
       "clusters[local].cluster.server: not a text"},
      {"plain http to elsewhere", config("server: 'http://10.0.0.1'", ""),
       "clusters[local].cluster.server: \"http://10.0.0.1\": plain http"},
      {"CA not base64", config(kServer + ", certificate-authority-data: '%%%'", ""),
       "clusters[local].cluster.certificate-authority-data: not base64"},
      {"CA not PEM", config(kServer + ", certificate-authority-data: AAAA", ""),
       "clusters[local].cluster.certificate-authority-data: holds no PEM block"},
      {"insecure is a word", config(kServer + ", insecure-skip-tls-verify: maybe", ""),
       "clusters[local].cluster.insecure-skip-tls-verify: \"maybe\" is neither true nor false"},
      {"insecure with CA",
       config(kServer + ", insecure-skip-tls-verify: true, certificate-authority-data: " + pem, ""),
       "clusters[local].cluster.insecure-skip-tls-verify: true contradicts"},
      {"TLS name with blanks", config(kServer + ", tls-server-name: 'a b'", ""),
       "clusters[local].cluster.tls-server-name: \"a b\" is not a host name"},
      {"certificate not base64", config(kServer, "client-certificate-data: '!'"),
       "users[admin].user.client-certificate-data: not base64"},
      {"certificate without key", config(kServer, "client-certificate-data: " + pem),
       "users[admin].user.client-key: missing"},
      {"key without certificate", config(kServer, "client-key: k"),
       "users[admin].user.client-certificate: missing"},
      {"token with a line end", config(kServer, "token: \"a\\nb\""),
       "users[admin].user.token: holds blanks"},
      {"exec", config(kServer, "exec: {command: aws}"), "users[admin].user.exec: not supported"},
      {"auth-provider", config(kServer, "auth-provider: {name: gcp}"),
       "users[admin].user.auth-provider: not supported"},
      {"basic auth", config(kServer, "username: u, password: p"),
       "users[admin].user.username: not supported"},
      {"impersonation", config(kServer, "as: root"), "users[admin].user.as: not supported"},
  };
  for (const Fault& row : faults) {
    const auto got = parse_kubeconfig(row.yaml, ".");
    ASSERT_FALSE(got) << row.name;
    EXPECT_THAT(got.error().what, HasSubstr(row.error)) << row.name;
    EXPECT_EQ(got.error().code, Code::kInvalid) << row.name;
  }
}

TEST(Kubeconfig, SecretsAreNotQuoted) {
  for (const char* user : {"token: \"hunter2 hunter2\"", "client-key-data: '%hunter2'"}) {
    const auto got = parse_kubeconfig(config(kServer, user), ".");
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().what, Not(HasSubstr("hunter2")));
  }
}

TEST(Kubeconfig, DeepNestingAndAliasesAreHarmless) {
  EXPECT_FALSE(parse_kubeconfig(std::string(20'000, '['), "."));
  std::string aliases = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i)
    aliases += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
               std::to_string(i - 1) + ", *a" + std::to_string(i - 1) + "]\n";
  EXPECT_TRUE(parse_kubeconfig(aliases + config(kServer, "token: t"), "."));
}

TEST(Kubeconfig, LoadNamesTheFileAndLooksAtWhatItNames) {
  const Directory dir;
  EXPECT_EQ(load_kubeconfig(dir.path("none")).error().code, Code::kNotFound);
  EXPECT_THAT(load_kubeconfig(dir.path("none")).error().what, HasSubstr("none\": No such file"));
  EXPECT_FALSE(load_kubeconfig(testing::TempDir())) << "a directory is not a file";
  const std::string path =
      dir.write("config", config(kServer + ", certificate-authority: ca.crt", "token: t"));
  EXPECT_THAT(load_kubeconfig(path).error().what,
              AllOf(HasSubstr("kubeconfig \"" + path), HasSubstr("certificate-authority: "),
                    HasSubstr("ca.crt\": No such")));
  dir.write("ca.crt", kPem);
  const auto got = load_kubeconfig(path);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->ca_file, dir.path("ca.crt"));
}

struct Environment {
  std::map<std::string, std::string> values;
  std::optional<std::string> operator()(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
};

TEST(InCluster, ServerFromTheEnvironmentRestFromFiles) {
  const Directory dir;
  dir.write("token", "t0ken\n");
  dir.write("ca.crt", kPem);
  dir.write("namespace", "kube-system\n");
  const auto got = in_cluster(
      Environment{{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}}},
      dir.path(""));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->server, "https://10.0.0.1:443");
  EXPECT_EQ(got->default_namespace, "kube-system");
  EXPECT_EQ(SecretStore(*got).current(MonoTime{}).value()->token, "t0ken");
  const auto six = in_cluster(
      Environment{{{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}}},
      dir.path(""));
  EXPECT_EQ(six.value().server, "https://[fd00::1]:443");
}

TEST(InCluster, WhatIsMissingIsNamed) {
  const Directory dir;
  EXPECT_THAT(in_cluster(Environment{}, dir.path("")).error().what,
              HasSubstr("KUBERNETES_SERVICE_HOST"));
  const Environment env{
      {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}}};
  EXPECT_THAT(in_cluster(env, dir.path("")).error().what, HasSubstr("/token\": No such file"));
  const Environment bad{
      {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "tcp"}}};
  EXPECT_THAT(in_cluster(bad, dir.path("")).error().what, HasSubstr("port \"tcp\""));
}

TEST(FindCredentials, FlagThenVariableThenHomeThenCluster) {
  const Directory dir;
  const auto named = [&](const std::string& name) {
    return dir.write(name, config("server: 'https://" + name + "'", ""));
  };
  const std::string flag = named("flag"), variable = named("variable");
  std::filesystem::create_directories(dir.path(".kube"));
  named(".kube/config");
  Environment env{{{"KUBECONFIG", variable}, {"HOME", dir.path("")}}};
  dir.write(".kube/config", config("server: 'https://home'", ""));
  EXPECT_EQ(find_credentials(flag, env).value().server, "https://flag");
  EXPECT_EQ(find_credentials("", env).value().server, "https://variable");
  env.values["KUBECONFIG"] = "";
  EXPECT_EQ(find_credentials("", env).value().server, "https://home");
  env.values["HOME"] = dir.path("nowhere");
  const auto none = find_credentials("", env);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, AllOf(HasSubstr("nowhere/.kube/config"),
                                       HasSubstr("in-cluster: KUBERNETES_SERVICE_HOST")));
}

TEST(FindCredentials, FaultyFileIsNotPassedOver) {
  const Directory dir;
  const Environment env{{{"KUBECONFIG", dir.write("bad", "kind: Pod")},
                         {"KUBERNETES_SERVICE_HOST", "h"},
                         {"KUBERNETES_SERVICE_PORT", "1"}}};
  EXPECT_THAT(find_credentials("", env).error().what, HasSubstr("kind: \"Pod\""));
  EXPECT_FALSE(find_credentials(dir.path("missing"), env))
      << "a flag that names no file is an error";
}

MonoTime at(int s) { return MonoTime(seconds(s)); }

TEST(Secrets, TokenFileIsReadAgainEveryMinute) {
  const Directory dir;
  Credentials credentials;
  credentials.token = "beside";
  credentials.token_file = dir.write("token", " one \n");
  SecretStore store(credentials);
  EXPECT_EQ(store.current(at(100)).value()->token, "one") << "the file wins over the token";
  dir.write("token", "two");
  EXPECT_EQ(store.current(at(150)).value()->token, "one");
  EXPECT_EQ(store.current(at(161)).value()->token, "two");
}

TEST(Secrets, RefusedTokenIsReadAgainAtOnce) {
  const Directory dir;
  Credentials credentials;
  credentials.token_file = dir.write("token", "one");
  SecretStore store(credentials);
  EXPECT_EQ(store.current(at(100)).value()->token, "one");
  dir.write("token", "two");
  store.token_refused();
  EXPECT_EQ(store.current(at(100)).value()->token, "two");
}

TEST(Secrets, UnreadableTokenIsAnErrorAtFirstAndTheOldOneLater) {
  const Directory dir;
  Credentials credentials;
  credentials.token_file = dir.path("token");
  SecretStore store(credentials);
  EXPECT_THAT(store.current(at(1)).error().what, HasSubstr("No such file"));
  EXPECT_FALSE(store.current(at(2)));
  dir.write("token", "");
  EXPECT_THAT(store.current(at(3)).error().what, HasSubstr("is empty"));
  dir.write("token", "a\nb");
  EXPECT_THAT(store.current(at(3)).error().what, HasSubstr("control characters"));
  dir.write("token", "one");
  EXPECT_EQ(store.current(at(4)).value()->token, "one");
  dir.remove("token");
  EXPECT_EQ(store.current(at(70)).value()->token, "one");
  dir.write("token", "two");
  EXPECT_EQ(store.current(at(85)).value()->token, "two")
      << "not a minute later: the file is overdue";
}

TEST(Secrets, CertificateFilesAreReadAgainWhenTheyChange) {
  const Directory dir;
  Credentials credentials;
  credentials.ca_file = dir.write("ca", kPem);
  credentials.cert_file = dir.write("crt", kPem);
  credentials.key_file = dir.write("key", kKeyPem);
  SecretStore store(credentials);
  EXPECT_EQ(store.current(at(1)).value()->key_pem, kKeyPem);
  const std::string other = std::string("# second\n") + kPem;
  dir.write("ca", other);
  dir.write("crt", other);
  dir.write("key", std::string("# second\n") + kKeyPem);
  EXPECT_EQ(store.current(at(5)).value()->cert_pem, kPem) << "looked at every ten seconds";
  const Secrets later = *store.current(at(12)).value();
  EXPECT_EQ(later.ca_pem, other);
  EXPECT_EQ(later.cert_pem, other);
  EXPECT_THAT(later.key_pem, HasSubstr("# second"));
  dir.write("crt", "half a fi");
  EXPECT_EQ(store.current(at(30)).value()->cert_pem, other) << "no PEM: the former content stays";
  dir.remove("ca");
  EXPECT_EQ(store.current(at(50)).value()->ca_pem, other);
}

TEST(Secrets, EmbeddedDataWinsOverFiles) {
  Credentials credentials;
  credentials.ca_file = credentials.cert_file = credentials.key_file = "/nonexistent";
  credentials.ca_pem = credentials.cert_pem = kPem;
  credentials.key_pem = kKeyPem;
  SecretStore store(credentials);
  const auto got = store.current(at(1));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ((*got)->ca_pem, kPem);
  EXPECT_EQ((*got)->key_pem, kKeyPem);
}

}  // namespace
}  // namespace tessera::client
