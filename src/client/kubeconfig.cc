// parse_kubeconfig: only the fields that the client uses are looked at, each with its path in the
// error.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/credentials.h"
#include "client/endpoint.h"
#include "client/secrets.h"

namespace tessera::client {
namespace {

/// A mapping together with its path in the file. Reading stops at the first fault; error() tells
/// it.
class Section {
 public:
  Section(const YAML::Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }
  bool has(const char* key) const {
    return node_.IsMap() && node_[key].IsDefined() && !node_[key].IsNull();
  }
  YAML::Node get(const char* key) const {
    return has(key) ? node_[key] : YAML::Node(YAML::NodeType::Null);
  }

  Result<std::string> string(const char* key) const {
    if (!has(key)) return std::string();
    const YAML::Node value = get(key);
    if (!value.IsScalar()) return fail(Code::kInvalid, fmt::format("{}: not a text", at(key)));
    return value.Scalar();
  }

  Result<bool> boolean(const char* key) const {
    const Result<std::string> value = string(key);
    if (!value) return tl::unexpected<Error>(value.error());
    if (value->empty() || *value == "false") return false;
    if (*value == "true") return true;
    return fail(Code::kInvalid,
                fmt::format("{}: {} is neither true nor false", at(key), text::quote(*value)));
  }

 private:
  YAML::Node node_;
  std::string path_;
};

/// `inner` of the entry called `name` in the list `list`: clusters[local].cluster.
Result<Section> named_entry(const Section& root, const char* list, const char* inner,
                            const std::string& name) {
  const YAML::Node entries = root.get(list);
  if (!entries.IsSequence()) return fail(Code::kInvalid, fmt::format("{}: not a list", list));
  std::optional<Section> found;
  std::size_t position = 0;
  for (const YAML::Node& node : entries) {
    const Section entry(node, fmt::format("{}[{}]", list, position++));
    const Result<std::string> entry_name = entry.string("name");
    if (!entry_name) return tl::unexpected<Error>(entry_name.error());
    if (*entry_name != name) continue;
    if (found)
      return fail(Code::kInvalid,
                  fmt::format("{}: name {} is given twice", list, text::quote(name)));
    found.emplace(entry.get(inner), fmt::format("{}[{}].{}", list, name, inner));
    if (!entry.get(inner).IsMap())
      return fail(Code::kInvalid, fmt::format("{}: not a mapping", found->path()));
  }
  if (!found)
    return fail(Code::kInvalid, fmt::format("{}: no entry is named {}", list, text::quote(name)));
  return *found;
}

Result<std::string> decoded_pem(const Section& section, const char* key) {
  Result<std::string> value = section.string(key);
  if (!value || value->empty()) return value;
  Result<std::string> pem = text::base64_decode(text::trim(*value));
  // The value may be a private key: the field's name is all that may be shown.
  if (!pem) return fail(Code::kInvalid, fmt::format("{}: not base64", section.at(key)));
  if (pem->find("-----BEGIN ") == std::string::npos)
    return fail(Code::kInvalid, fmt::format("{}: holds no PEM block", section.at(key)));
  return pem;
}

Result<std::string> file_path(const Section& section, const char* key,
                              const std::string& base_dir) {
  Result<std::string> value = section.string(key);
  if (!value || value->empty() || value->front() == '/') return value;
  if (value->find('\0') != std::string::npos)
    return fail(Code::kInvalid, fmt::format("{}: holds a NUL", section.at(key)));
  return fmt::format("{}/{}", base_dir, *value);
}

/// Runs the steps in order until one fails.
template <class... Steps>
Status all_of(Steps&&... steps) {
  Status status;
  const bool done = ((status = steps(), status.has_value()) && ...);
  (void)done;
  return status;
}

/// A step that stores a value or passes its error on.
template <class T>
auto store(T& target, Result<T> value) {
  return [&target, value = std::move(value)]() -> Status {
    if (!value) return tl::unexpected<Error>(value.error());
    target = *value;
    return {};
  };
}

bool is_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  });
}

Status check_cluster(const Section& cluster, const Credentials& out) {
  if (out.server.empty())
    return fail(Code::kInvalid, fmt::format("{}: missing", cluster.at("server")));
  const Result<Endpoint> endpoint = parse_server(out.server);
  if (!endpoint)
    return fail(Code::kInvalid, fmt::format("{}: {}", cluster.at("server"), endpoint.error().what));
  if (!endpoint->https && !is_loopback(out.server)) {
    return fail(Code::kInvalid, fmt::format("{}: {}: plain http is accepted for this machine only",
                                            cluster.at("server"), text::quote(out.server)));
  }
  if (out.insecure && !(out.ca_file.empty() && out.ca_pem.empty())) {
    return fail(Code::kInvalid,
                fmt::format("{}: true contradicts the certificate-authority beside it",
                            cluster.at("insecure-skip-tls-verify")));
  }
  if (!is_name(out.tls_server_name)) {
    return fail(Code::kInvalid,
                fmt::format("{}: {} is not a host name", cluster.at("tls-server-name"),
                            text::quote(out.tls_server_name)));
  }
  return {};
}

Status read_cluster(const Section& cluster, const std::string& base_dir, Credentials& out) {
  Status read = all_of(store(out.server, cluster.string("server")),
                       store(out.ca_pem, decoded_pem(cluster, "certificate-authority-data")),
                       store(out.ca_file, file_path(cluster, "certificate-authority", base_dir)),
                       store(out.insecure, cluster.boolean("insecure-skip-tls-verify")),
                       store(out.tls_server_name, cluster.string("tls-server-name")),
                       store(out.proxy_url, cluster.string("proxy-url")));
  if (!read) return read;
  while (out.server.ends_with('/')) out.server.pop_back();
  return check_cluster(cluster, out);
}

Status refuse_unsupported(const Section& user) {
  for (const char* key : {"exec", "auth-provider", "username", "password", "as", "as-uid",
                          "as-groups", "as-user-extra"}) {
    if (!user.has(key)) continue;
    const YAML::Node value = user.get(key);
    if (value.IsScalar() && value.Scalar().empty()) continue;
    return fail(Code::kInvalid,
                fmt::format("{}: not supported; use a token, a tokenFile or a client certificate",
                            user.at(key)));
  }
  return {};
}

Status check_user(const Section& user, const Credentials& out) {
  if (!is_token(out.token))
    return fail(Code::kInvalid,
                fmt::format("{}: holds blanks or control characters", user.at("token")));
  const bool cert = !(out.cert_pem.empty() && out.cert_file.empty());
  const bool key = !(out.key_pem.empty() && out.key_file.empty());
  if (cert && !key)
    return fail(Code::kInvalid,
                fmt::format("{}: missing, client-certificate is given", user.at("client-key")));
  if (key && !cert)
    return fail(Code::kInvalid,
                fmt::format("{}: missing, client-key is given", user.at("client-certificate")));
  return {};
}

Status read_user(const Section& user, const std::string& base_dir, Credentials& out) {
  if (Status supported = refuse_unsupported(user); !supported) return supported;
  Status read = all_of(store(out.token, user.string("token")),
                       store(out.token_file, file_path(user, "tokenFile", base_dir)),
                       store(out.cert_pem, decoded_pem(user, "client-certificate-data")),
                       store(out.cert_file, file_path(user, "client-certificate", base_dir)),
                       store(out.key_pem, decoded_pem(user, "client-key-data")),
                       store(out.key_file, file_path(user, "client-key", base_dir)));
  if (!read) return read;
  return check_user(user, out);
}

struct ContextNames {
  std::string cluster, user, ns;
};

Result<ContextNames> read_context(const Section& root, std::string_view wanted) {
  std::string name(wanted);
  if (name.empty()) {
    const Result<std::string> current = root.string("current-context");
    if (!current) return tl::unexpected<Error>(current.error());
    name = *current;
  }
  if (name.empty()) return fail(Code::kInvalid, "current-context: missing");
  const Result<Section> context = named_entry(root, "contexts", "context", name);
  if (!context) return tl::unexpected<Error>(context.error());
  ContextNames names;
  Status read = all_of(store(names.cluster, context->string("cluster")),
                       store(names.user, context->string("user")),
                       store(names.ns, context->string("namespace")));
  if (!read) return tl::unexpected<Error>(read.error());
  if (names.cluster.empty())
    return fail(Code::kInvalid, fmt::format("{}: missing", context->at("cluster")));
  if (names.ns.size() > 63 || !is_name(names.ns)) {
    return fail(Code::kInvalid, fmt::format("{}: {} is not a namespace", context->at("namespace"),
                                            text::quote(names.ns)));
  }
  return names;
}

Result<Credentials> read_kubeconfig(const Section& root, const std::string& base_dir,
                                    std::string_view wanted) {
  const Result<std::string> kind = root.string("kind");
  if (!kind) return tl::unexpected<Error>(kind.error());
  if (!kind->empty() && *kind != "Config")
    return fail(Code::kInvalid, fmt::format("kind: {} is not Config", text::quote(*kind)));
  const Result<ContextNames> names = read_context(root, wanted);
  if (!names) return tl::unexpected<Error>(names.error());
  Credentials out;
  out.default_namespace = names->ns;
  const Result<Section> cluster = named_entry(root, "clusters", "cluster", names->cluster);
  if (!cluster) return tl::unexpected<Error>(cluster.error());
  if (const Status read = read_cluster(*cluster, base_dir, out); !read)
    return tl::unexpected<Error>(read.error());
  if (names->user.empty()) return out;
  const Result<Section> user = named_entry(root, "users", "user", names->user);
  if (!user) return tl::unexpected<Error>(user.error());
  if (const Status read = read_user(*user, base_dir, out); !read)
    return tl::unexpected<Error>(read.error());
  return out;
}

}  // namespace

Result<Credentials> parse_kubeconfig(std::string_view yaml, const std::string& base_dir,
                                     std::string_view context) {
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsMap())
      return fail(Code::kInvalid, "not a mapping with clusters, users and contexts");
    return read_kubeconfig(Section(root, ""), base_dir, context);
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) return fail(Code::kInvalid, fmt::format("not YAML: {}", error.msg));
    return fail(Code::kInvalid, fmt::format("not YAML: line {}, column {}: {}", error.mark.line + 1,
                                            error.mark.column + 1, error.msg));
  }
}

}  // namespace tessera::client
