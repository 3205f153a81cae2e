#include "http/message.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tessera::http {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool bodiless(int status) { return status < 200 || status == 204 || status == 304; }

void append_field(std::string& out, std::string_view name, std::string_view value) {
  const auto start = out.size();
  out.append(name).append(": ").append(value);
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(start), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  out.append("\r\n");
}

}  // namespace

std::string_view Request::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

std::string Request::query_value(std::string_view key) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const auto equals = pair.find('=');
    if (percent_decode(pair.substr(0, equals), true) != key) continue;
    if (equals == std::string_view::npos) return {};
    return percent_decode(pair.substr(equals + 1), true).value_or(std::string());
  }
  return {};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

std::string http_date(std::chrono::sys_seconds time) {
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

std::string render_head(const Response& response, const HeadFacts& facts) {
  std::string out;
  out.reserve(256);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", response.status,
                 reason_phrase(response.status));
  if (!response.content_type.empty() && !bodiless(response.status)) {
    append_field(out, "Content-Type", response.content_type);
  }
  if (facts.framing == Framing::kChunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  } else if (facts.framing == Framing::kLength && !bodiless(response.status)) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n",
                   response.body.size() + response.rest.size());
  }
  if (!facts.date.empty()) append_field(out, "Date", facts.date);
  for (const auto& [name, value] : response.headers) append_field(out, name, value);
  if (!facts.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (!facts.http11) {
    append_field(out, "Connection", "keep-alive");
  }
  out.append("\r\n");
  return out;
}

std::size_t Gathered::size() const {
  std::size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  return bytes;
}

Response plain_answer(int status, std::string_view text) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.append(text).append("\n");
  return response;
}

}  // namespace tessera::http
