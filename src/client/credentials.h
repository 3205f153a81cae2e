/// Where the API server is and who we are. kubeconfig (token, token file, client certificate, CA;
/// embedded or by file) or the in-cluster files. Files are re-read when they change: tokens rotate.
/// Source: spec/scheduler.md section 1.2.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::client {

struct Credentials {
  std::string server;             ///< https://host:port (http allowed for loopback tests)
  std::string token, token_file;  ///< file wins and is re-read every minute
  std::string ca_file, ca_pem;    ///< pem wins
  std::string cert_file, cert_pem, key_file, key_pem;
  std::string default_namespace;
  std::string tls_server_name;
  std::string proxy_url;  ///< of the cluster entry; empty: the environment decides
  bool insecure = false;
};

/// `base_dir` resolves relative paths. Errors name the field
/// ("users[admin].user.client-certificate-data: not base64").
Result<Credentials> parse_kubeconfig(std::string_view yaml, const std::string& base_dir,
                                     std::string_view context = {});
Result<Credentials> load_kubeconfig(const std::string& path);
Result<Credentials> in_cluster(
    const std::function<std::optional<std::string>(const std::string&)>& env,
    const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount");
/// --kubeconfig, then KUBECONFIG, then $HOME/.kube/config, then in-cluster; the error tells what
/// was tried.
Result<Credentials> find_credentials(
    const std::string& flag,
    const std::function<std::optional<std::string>(const std::string&)>& env);

}  // namespace tessera::client
