#include "http/message.h"

#include <gtest/gtest.h>

#include "http/router.h"
#include "http/sockets.h"

namespace tessera::http {
namespace {

TEST(Message, HeadHasStatusLengthAndDate) {
  Response response;
  response.body = "{}";
  response.headers = {{"Allow", "GET"}};
  HeadFacts facts;
  facts.date = "today";
  EXPECT_EQ(render_head(response, facts),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "Date: today\r\nAllow: GET\r\n\r\n");
}

TEST(Message, HeadSaysHowTheConnectionGoesOn) {
  HeadFacts facts;
  facts.keep_alive = false;
  EXPECT_NE(render_head({}, facts).find("Connection: close\r\n"), std::string::npos);
  facts.keep_alive = true;
  facts.http11 = false;
  EXPECT_NE(render_head({}, facts).find("Connection: keep-alive\r\n"), std::string::npos);
}

TEST(Message, NoHeaderValueCanSplitTheResponse) {
  Response response;
  response.headers = {{"Location", "/a\r\nSet-Cookie: x"}};
  EXPECT_NE(render_head(response, {}).find("Location: /a  Set-Cookie: x\r\n"), std::string::npos);
}

TEST(Message, NoContentHasNoLength) {
  Response response;
  response.status = 204;
  EXPECT_EQ(render_head(response, {}), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(Message, Dates) {
  EXPECT_EQ(http_date(std::chrono::sys_seconds(std::chrono::seconds(784111777))),
            "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Message, PercentEscapes) {
  EXPECT_EQ(percent_decode("a%2fb+c", false), "a/b+c");
  EXPECT_EQ(percent_decode("a%2Fb+c", true), "a/b c");
  for (const char* bad : {"%", "%4", "a%4", "%zz", "%4g"}) {
    EXPECT_EQ(percent_decode(bad, false), std::nullopt) << bad;
  }
}

struct AddressRow {
  const char* text;
  const char* host;
  const char* port;  // nullptr: refused
};

TEST(Message, ListenAddresses) {
  const AddressRow rows[] = {
      {"127.0.0.1:8080", "127.0.0.1", "8080"},
      {":9395", "", "9395"},
      {"[::1]:0", "::1", "0"},
      {"localhost:1", "localhost", "1"},
      {"8080", "", nullptr},
      {"", "", nullptr},
      {"a:b", "", nullptr},
      {"a:65536", "", nullptr},
      {"a:-1", "", nullptr},
      {"::1:80", "", nullptr},
      {"[::1:80", "", nullptr},
      {"[]:80", "", nullptr},
      {"a:", "", nullptr},
  };
  for (const auto& row : rows) {
    const auto address = parse_address(row.text);
    ASSERT_EQ(address.has_value(), row.port != nullptr) << row.text;
    if (!address) {
      EXPECT_NE(address.error().what.find(row.text), std::string::npos) << address.error().what;
      continue;
    }
    EXPECT_EQ(address->host, row.host);
    EXPECT_EQ(address->port, row.port);
  }
}

Router make_router() {
  const auto handler = [](Request&&, const Responder&) {};
  std::vector<Route> routes;
  for (const auto& [method, path] : {std::pair{"*", "/api/*"},
                                     {"GET", "/api/v1/nodes*"},
                                     {"POST", "/filter"},
                                     {"GET", "/healthz"},
                                     {"GET", "/api/v1/exact"}}) {
    Route route;
    route.method = method;
    route.path = path;
    route.handler = handler;
    routes.push_back(std::move(route));
  }
  return Router(std::move(routes));
}

struct RouteRow {
  const char* method;
  const char* path;
  const char* route;  // nullptr: none
  int status;
  const char* field;  // Allow or Location
};

TEST(Message, Routes) {
  const Router router = make_router();
  const RouteRow rows[] = {
      {"POST", "/filter", "/filter", 0, ""},
      {"GET", "/healthz", "/healthz", 0, ""},
      {"HEAD", "/healthz", "/healthz", 0, ""},
      {"DELETE", "/api/x", "/api/*", 0, ""},
      {"GET", "/api/v1/nodes", "/api/v1/nodes*", 0, ""},
      {"GET", "/api/v1/nodes/n1", "/api/v1/nodes*", 0, ""},
      {"PATCH", "/api/v1/nodes/n1", "/api/*", 0, ""},
      {"GET", "/api/v1/exact", "/api/v1/exact", 0, ""},
      {"GET", "/filter", nullptr, 405, "OPTIONS, POST"},
      {"HEAD", "/filter", nullptr, 405, "OPTIONS, POST"},
      {"POST", "/healthz", nullptr, 405, "GET, OPTIONS"},
      {"OPTIONS", "/filter", nullptr, 200, "OPTIONS, POST"},
      {"GET", "/", nullptr, 404, ""},
      {"POST", "/filters", nullptr, 404, ""},
      {"POST", "/filter/", nullptr, 307, "/filter?q=1"},
      {"POST", "//x/../Filter", nullptr, 307, "/filter?q=1"},
      {"GET", "/HEALTHZ", nullptr, 301, "/healthz?q=1"},
  };
  for (const auto& row : rows) {
    const auto match = router.find(row.method, row.path, "q=1");
    const std::string where = std::string(row.method) + " " + row.path;
    if (row.route != nullptr) {
      ASSERT_NE(match.route, nullptr) << where;
      EXPECT_EQ(match.route->path, row.route) << where;
      continue;
    }
    ASSERT_EQ(match.route, nullptr) << where;
    EXPECT_EQ(match.fallback.status, row.status) << where;
    const bool has_field = !match.fallback.headers.empty();
    EXPECT_EQ(has_field ? match.fallback.headers.front().second : "", row.field) << where;
  }
  EXPECT_EQ(router.find("GET", "/no", "").fallback.body, "404 page not found\n");
  EXPECT_EQ(router.find("GET", "/filter", "").fallback.body, "Method Not Allowed\n");
}

}  // namespace
}  // namespace tessera::http
