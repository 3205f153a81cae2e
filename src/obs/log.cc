#include "obs/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "base/clock.h"
#include "base/text.h"

namespace tessera::log {
namespace {

/// The process has one standard error, so it has one logger; everything else about a line comes in
/// as arguments.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto made = std::make_shared<spdlog::logger>("tessera",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");  // spdlog does not escape: the line arrives ready
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *kLogger;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      break;
  }
  return spdlog::level::off;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
    case Level::kOff:
      break;
  }
  return "off";
}

void append_escaped(std::string& out, std::string_view s) {
  out.push_back('"');
  while (!s.empty()) {
    const std::size_t length = text::utf8_length(s);
    const auto byte = static_cast<unsigned char>(s[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (s[0] == '"' || s[0] == '\\') {
      out.push_back('\\');
      out.push_back(s[0]);
    } else if (byte < 0x20) {
      out += s[0] == '\n' ? "\\n" : fmt::format("\\u{:04x}", byte);
    } else {
      out.append(s.substr(0, length));
    }
    s.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

void append_field(std::string& out, const Field& field) {
  out.push_back(',');
  append_escaped(out, field.key);
  out.push_back(':');
  if (field.is_number) {
    out += field.text;
  } else {
    append_escaped(out, field.text);
  }
}

}  // namespace

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  const auto wanted = to_spdlog(level);
  if (level == Level::kOff || !logger().should_log(wanted)) return;
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","msg":)",
                                 format_rfc3339_micro(SystemClock().wall()), name_of(level));
  append_escaped(line, message);
  for (const Field& field : fields) append_field(line, field);
  line.push_back('}');
  logger().log(wanted, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace tessera::log
