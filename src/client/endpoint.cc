#include "client/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace tessera::client {
namespace {

bool is_host_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
}
bool is_ip6_character(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.' || c == '%';
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    if (host.size() < 4 || !host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
    return std::all_of(host.begin(), host.end(), is_ip6_character);
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), is_host_character);
}

bool is_port(std::string_view port) {
  if (port.empty() || port.size() > 5 ||
      !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  const int value = std::stoi(std::string(port));
  return value >= 1 && value <= 65535;
}

bool is_path_character(char c) {
  return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '"' && c != '<' && c != '>' &&
         c != '\\';
}

std::size_t end_of_host(std::string_view authority) {
  if (!authority.starts_with('[')) return authority.find(':');
  const std::size_t bracket = authority.find(']');
  return bracket == std::string_view::npos || bracket + 1 == authority.size()
             ? std::string_view::npos
             : bracket + 1;
}

}  // namespace

Result<Endpoint> parse_server(std::string_view server) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::kInvalid, fmt::format("{}: {}", text::quote(server), why));
  };
  Endpoint endpoint;
  std::string_view rest = server;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    endpoint.https = false;
    rest.remove_prefix(7);
  } else {
    return wrong("not a URL that begins with https://");
  }
  const std::size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) endpoint.prefix = rest.substr(slash);
  while (endpoint.prefix.ends_with('/')) endpoint.prefix.pop_back();
  if (!std::all_of(endpoint.prefix.begin(), endpoint.prefix.end(), is_path_character))
    return wrong("path holds a query, blanks or other characters");
  const std::size_t end = end_of_host(authority);
  endpoint.host = authority.substr(0, end);
  if (!is_host(endpoint.host))
    return wrong(fmt::format("host {} is not a name or address", text::quote(endpoint.host)));
  endpoint.port = endpoint.https ? "443" : "80";
  if (end != std::string_view::npos) {
    endpoint.port = authority.substr(end + 1);
    if (authority[end] != ':' || !is_port(endpoint.port))
      return wrong(fmt::format("port {} is not 1 to 65535", text::quote(endpoint.port)));
  }
  return endpoint;
}

Endpoint split_server(std::string_view server) { return parse_server(server).value_or(Endpoint{}); }

bool is_loopback(std::string_view server) {
  const Result<Endpoint> endpoint = parse_server(server);
  if (!endpoint) return false;
  const bool ip4 = endpoint->host.starts_with("127.") &&
                   std::all_of(endpoint->host.begin(), endpoint->host.end(),
                               [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return ip4 || endpoint->host == "localhost" || endpoint->host == "[::1]";
}

}  // namespace tessera::client
