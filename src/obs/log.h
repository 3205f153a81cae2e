/// Structured log lines: log::info("bound", {{"pod", key}, {"node", name}}). One JSON object a line
/// on standard error. Messages are lower case without a final period; facts are fields.
/// Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

struct Field {
  Field(std::string_view k, std::string_view v) : key(k), text(v) {}
  Field(std::string_view k, const char* v) : key(k), text(v) {}
  Field(std::string_view k, const std::string& v) : key(k), text(v) {}
  Field(std::string_view k, std::int64_t v) : key(k), text(std::to_string(v)), is_number(true) {}
  Field(std::string_view k, int v) : Field(k, static_cast<std::int64_t>(v)) {}
  Field(std::string_view k, std::uint64_t v) : key(k), text(std::to_string(v)), is_number(true) {}
  std::string_view key;
  std::string text;
  bool is_number = false;
};

void set_level(Level level);
void write(Level level, std::string_view message, std::initializer_list<Field> fields);
inline void debug(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::kDebug, m, f);
}
inline void info(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::kInfo, m, f);
}
inline void warn(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::kWarn, m, f);
}
inline void error(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::kError, m, f);
}

}  // namespace tessera::log
