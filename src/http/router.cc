#include "http/router.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "http/message.h"

namespace tessera::http {
namespace {

bool is_prefix(const Route& route) { return route.path.ends_with('*'); }

bool covers(const Route& route, std::string_view path) {
  if (!is_prefix(route)) return route.path == path;
  return path.starts_with(std::string_view(route.path).substr(0, route.path.size() - 1));
}

bool serves(const Route& route, std::string_view method) {
  return route.method == "*" || route.method == method ||
         (method == "HEAD" && route.method == "GET");
}

/// "/a//b/../c/" -> "/a/c": what a client meant that glued its URL together carelessly.
std::string cleaned(std::string_view path) {
  std::vector<std::string_view> kept;
  for (const auto piece : text::split(path, '/')) {
    if (piece.empty() || piece == ".") continue;
    if (piece != "..") {
      kept.push_back(piece);
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  std::string out;
  for (const auto piece : kept) out.append("/").append(piece);
  return out.empty() ? "/" : out;
}

Response redirect(std::string_view method, const std::string& path, std::string_view query) {
  Response response = plain_answer(method == "GET" || method == "HEAD" ? 301 : 307, "");
  response.body.clear();
  response.headers.emplace_back("Location", query.empty() ? path : path + "?" + std::string(query));
  return response;
}

}  // namespace

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {
  std::stable_sort(routes_.begin(), routes_.end(), [](const Route& a, const Route& b) {
    if (is_prefix(a) != is_prefix(b)) return is_prefix(b);
    return is_prefix(a) && a.path.size() > b.path.size();
  });
}

const Route* Router::find_route(std::string_view method, std::string_view path) const {
  const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
    return covers(route, path) && serves(route, method);
  });
  return found == routes_.end() ? nullptr : &*found;
}

std::vector<std::string> Router::methods_of(std::string_view path) const {
  std::vector<std::string> methods;
  for (const Route& route : routes_) {
    if (covers(route, path)) methods.push_back(route.method);
  }
  if (methods.empty()) return methods;
  methods.push_back("OPTIONS");
  std::sort(methods.begin(), methods.end());
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  return methods;
}

const Route* Router::find_similar(std::string_view method, std::string_view path) const {
  const std::string wanted = cleaned(path);
  const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
    return !is_prefix(route) && serves(route, method) &&
           text::equals_ignoring_case(route.path, wanted);
  });
  return found == routes_.end() ? nullptr : &*found;
}

Router::Match Router::find(std::string_view method, std::string_view path,
                           std::string_view query) const {
  if (const Route* route = find_route(method, path)) return {route, {}};
  if (const auto methods = methods_of(path); !methods.empty()) {
    Response answer =
        method == "OPTIONS" ? plain_answer(200, "") : plain_answer(405, "Method Not Allowed");
    if (method == "OPTIONS") answer.body.clear();
    answer.headers.emplace_back("Allow", text::join(methods, ", "));
    return {nullptr, std::move(answer)};
  }
  if (const Route* route = find_similar(method, path)) {
    return {nullptr, redirect(method, route->path, query)};
  }
  return {nullptr, plain_answer(404, "404 page not found")};
}

}  // namespace tessera::http
