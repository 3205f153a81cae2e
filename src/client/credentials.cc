#include "client/credentials.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/read_file.h"
#include "base/text.h"
#include "client/endpoint.h"
#include "client/secrets.h"

namespace tessera::client {
namespace {

constexpr std::size_t kConfigLimit = 4U << 20U;

using Environment = std::function<std::optional<std::string>(const std::string&)>;

std::string value_of(const Environment& env, const std::string& name) {
  return env(name).value_or("");
}

tl::unexpected<Error> about(const std::string& path, const Error& error) {
  return fail(error.code, fmt::format("kubeconfig {}: {}", text::quote(path), error.what));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The files that a kubeconfig names are looked at once at start, while a person is there to read
/// the answer.
Status check_files(const Credentials& credentials) {
  const std::array<std::pair<std::string_view, const std::string*>, 4> files{{
      {"certificate-authority", credentials.ca_pem.empty() ? &credentials.ca_file : nullptr},
      {"client-certificate", credentials.cert_pem.empty() ? &credentials.cert_file : nullptr},
      {"client-key", credentials.key_pem.empty() ? &credentials.key_file : nullptr},
      {"tokenFile", credentials.token.empty() ? &credentials.token_file : nullptr},
  }};
  for (const auto& [field, path] : files) {
    if (path == nullptr || path->empty()) continue;
    const Result<std::string> content = read_file(*path, kConfigLimit);
    if (!content) return fail(Code::kInvalid, fmt::format("{}: {}", field, content.error().what));
  }
  return {};
}

}  // namespace

Result<Credentials> load_kubeconfig(const std::string& path) {
  const Result<std::string> content = read_file(path, kConfigLimit);
  if (!content) return about(path, content.error());
  Result<Credentials> credentials = parse_kubeconfig(*content, directory_of(path));
  if (!credentials) return about(path, credentials.error());
  if (const Status files = check_files(*credentials); !files) return about(path, files.error());
  return credentials;
}

Result<Credentials> in_cluster(const Environment& env, const std::string& directory) {
  const std::string host = value_of(env, "KUBERNETES_SERVICE_HOST");
  const std::string port = value_of(env, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Code::kNotFound,
                "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set");
  }
  const bool ip6 = host.find(':') != std::string::npos && !host.starts_with('[');
  Credentials credentials;
  credentials.server =
      ip6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
  if (const Result<Endpoint> endpoint = parse_server(credentials.server); !endpoint) {
    return fail(Code::kInvalid,
                fmt::format("in-cluster: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: {}",
                            endpoint.error().what));
  }
  credentials.token_file = directory + "/token";
  credentials.ca_file = directory + "/ca.crt";
  for (const std::string* file : {&credentials.token_file, &credentials.ca_file}) {
    const Result<std::string> content = read_file(*file, kConfigLimit);
    if (!content)
      return fail(content.error().code, fmt::format("in-cluster: {}", content.error().what));
  }
  if (const Result<std::string> name = read_file(directory + "/namespace", kConfigLimit)) {
    credentials.default_namespace = text::trim(*name);
  }
  return credentials;
}

// A file that does not exist lets the next source try, a file that is wrong does not: somebody
// meant it.
Result<Credentials> find_credentials(const std::string& flag, const Environment& env) {
  if (!flag.empty()) return load_kubeconfig(flag);
  std::vector<std::string> tried;
  const std::string named = value_of(env, "KUBECONFIG");
  const std::string home = value_of(env, "HOME");
  const std::string path = !named.empty() ? named : home.empty() ? "" : home + "/.kube/config";
  if (!path.empty()) {
    Result<Credentials> credentials = load_kubeconfig(path);
    if (credentials || credentials.error().code != Code::kNotFound) return credentials;
    tried.push_back(
        fmt::format("{}: {}", named.empty() ? "HOME" : "KUBECONFIG", credentials.error().what));
  }
  Result<Credentials> credentials = in_cluster(env);
  if (credentials || credentials.error().code != Code::kNotFound) return credentials;
  tried.push_back(credentials.error().what);
  return fail(Code::kNotFound,
              fmt::format("no way to the API server is known; tried: {}", text::join(tried, "; ")));
}

}  // namespace tessera::client
