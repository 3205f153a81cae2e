#include "sim/api_call.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/api_protobuf.h"

namespace tessera::sim::api {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                         hex_digit(text[i + 2]) >= 0;
    if (escaped) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

/// [NAME[/SUBRESOURCE]] from `parts` at `at`; false when something is left over.
bool take_name(const std::vector<std::string_view>& parts, std::size_t at, Target& target) {
  if (at < parts.size()) target.name = parts[at];
  if (at + 1 < parts.size()) target.subresource = parts[at + 1];
  if (target.name.empty() && at < parts.size()) return false;
  if (!target.subresource.empty() && !target.resource->has_subresource(target.subresource))
    return false;
  return parts.size() <= at + 2;
}

}  // namespace

std::string_view Call::parameter(std::string_view key) const {
  for (const auto& [name, value] : query)
    if (name == key) return value;
  return {};
}

bool Call::flag(std::string_view key) const {
  const std::string_view value = parameter(key);
  return value == "true" || value == "1";
}

bool Call::wants_table() const { return accept.find("as=Table") != std::string::npos; }

Result<Value> Call::decoded_body() const {
  if (body.empty()) return Value();
  const bool protobuf = content_type.starts_with(kProtobufType);
  return protobuf ? decode_protobuf(body) : Value::parse(body);
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view piece : text::split(query, '&')) {
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : piece.substr(equals + 1);
    pairs.emplace_back(decode(piece.substr(0, equals)), decode(value));
  }
  return pairs;
}

std::optional<Target> parse_target(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string_view> parts = text::split(path, '/');
  std::string_view group;
  std::size_t at = 2;  // the piece before the first '/' is empty
  if (parts.size() > 3 && parts[1] == "apis") {
    group = parts[2];
    at = 3;
  } else if (parts.size() < 2 || parts[1] != "api") {
    return std::nullopt;
  }
  if (parts.size() < at + 2) return std::nullopt;
  const std::string_view version = parts[at];
  Target target;
  const bool inside = parts[at + 1] == "namespaces" && parts.size() > at + 3;
  if (inside) target.resource = find_resource(group, version, parts[at + 3]);
  if (target.resource != nullptr && target.resource->namespaced) {
    target.space = parts[at + 2];
    if (!take_name(parts, at + 4, target)) return std::nullopt;
    return target;
  }
  target.resource = find_resource(group, version, parts[at + 1]);
  if (target.resource == nullptr || !take_name(parts, at + 2, target)) return std::nullopt;
  const bool needs_namespace = target.resource->namespaced && !target.name.empty();
  if (needs_namespace) return std::nullopt;
  return target;
}

Reply json_reply(int status, const Value& body) { return {.status = status, .body = body.dump()}; }

Value status_object(int status, std::string_view reason, std::string_view message) {
  Value body = Value::object({{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"metadata", Value::object()},
                              {"status", status < 400 ? "Success" : "Failure"}});
  if (!message.empty()) body.make("message") = message;
  if (!reason.empty()) body.make("reason") = reason;
  body.make("code") = status;
  return body;
}

Reply failure(int status, std::string_view reason, std::string_view message, std::string_view kind,
              std::string_view name, std::string_view group) {
  Value body = status_object(status, reason, message);
  if (!kind.empty()) {
    Value& details = body.make("details");
    if (!name.empty()) details.make("name") = name;
    if (!group.empty()) details.make("group") = group;
    details.make("kind") = kind;
  }
  return json_reply(status, body);
}

Reply not_found(const Resource& resource, std::string_view name) {
  return failure(404, "NotFound",
                 fmt::format("{} \"{}\" not found", resource.qualified_name(), name), resource.name,
                 name, resource.group);
}

Reply already_exists(const Resource& resource, std::string_view name) {
  return failure(409, "AlreadyExists",
                 fmt::format("{} \"{}\" already exists", resource.qualified_name(), name),
                 resource.name, name, resource.group);
}

Reply conflict(const Resource& resource, std::string_view name, std::string_view why) {
  const std::string message = fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                                          resource.qualified_name(), name, why);
  return failure(409, "Conflict", message, resource.name, name, resource.group);
}

Reply stale_version(const Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Reply bad_request(std::string_view message) { return failure(400, "BadRequest", message); }

Reply unsupported_media_type(std::string_view what) {
  return failure(415, "UnsupportedMediaType", fmt::format("415: Unsupported Media Type: {}", what));
}

Reply unknown_path() {
  return failure(404, "NotFound", "the server could not find the requested resource");
}

Reply method_not_allowed() {
  return failure(405, "MethodNotAllowed",
                 "the server does not allow this method on the requested resource");
}

Reply injected_failure(int status, int retry_after_seconds) {
  std::string_view reason = "InternalError", message = "Internal error occurred: injected fault";
  if (status == 409) reason = "Conflict", message = "Operation cannot be fulfilled: injected fault";
  if (status == 410) reason = "Expired", message = "too old resource version: injected fault";
  if (status == 429)
    reason = "TooManyRequests", message = "the server has received too many requests";
  if (status == 503) reason = "ServiceUnavailable", message = "the server is unavailable";
  Reply reply = failure(status, reason, message);
  reply.retry_after_seconds = retry_after_seconds;
  return reply;
}

}  // namespace tessera::sim::api
