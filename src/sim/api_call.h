/// One request to the embedded API server, whichever way it came, and its answer.
/// Thread rule: plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/api_catalogue.h"
#include "sim/api_value.h"

namespace tessera::sim::api {

struct Call {
  std::string method, path;                                ///< path without the query
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded
  std::string body, content_type, accept;

  std::string_view parameter(std::string_view key) const;  ///< "" when absent
  bool flag(std::string_view key) const;                   ///< "true" or "1"
  bool wants_table() const;
  /// The body as a tree, from JSON or from one of the protobuf kinds; null when there is none.
  Result<Value> decoded_body() const;
};

/// Splits "a=b&c=%20" into decoded pairs; '+' is a blank.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

/// What a resource path points to: /api/v1/namespaces/NS/pods/NAME/SUBRESOURCE and its shorter
/// forms.
struct Target {
  const Resource* resource = nullptr;
  std::string space, name, subresource;
};
/// nullopt: not the path of a known resource.
std::optional<Target> parse_target(std::string_view path);

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  int retry_after_seconds = 0;
};

Reply json_reply(int status, const Value& body);
/// A Status object with kind, apiVersion, message, reason and code. `name` and `kind` go into the
/// details when not empty.
Reply failure(int status, std::string_view reason, std::string_view message,
              std::string_view kind = {}, std::string_view name = {}, std::string_view group = {});
Value status_object(int status, std::string_view reason, std::string_view message);

Reply not_found(const Resource& resource, std::string_view name);
Reply already_exists(const Resource& resource, std::string_view name);
/// "Operation cannot be fulfilled on pods "a": <why>".
Reply conflict(const Resource& resource, std::string_view name, std::string_view why);
Reply stale_version(const Resource& resource, std::string_view name);
Reply bad_request(std::string_view message);
Reply unsupported_media_type(std::string_view what);
Reply unknown_path();
Reply method_not_allowed();
/// As an API server answers when it has nothing better to say: used for injected faults.
Reply injected_failure(int status, int retry_after_seconds);

}  // namespace tessera::sim::api
