#include "obs/exposition.h"

#include "base/text.h"

namespace tessera::obs {
namespace {

constexpr std::string_view kTotal = "_total";

/// "# HELP name words" or "# TYPE name words" in three parts; empty name: another line.
struct Comment {
  std::string_view head, name, words;
};

Comment read_comment(std::string_view line) {
  if (!line.starts_with("# HELP ") && !line.starts_with("# TYPE ")) return {};
  const std::string_view head = line.substr(0, 7);
  const std::string_view rest = line.substr(head.size());
  const std::size_t blank = rest.find(' ');
  if (blank == std::string_view::npos) return {};
  return {head, rest.substr(0, blank), rest.substr(blank + 1)};
}

void add_line(std::string& out, std::string_view line) {
  out += line;
  out += '\n';
}

}  // namespace

void open_metrics_lines(std::string_view page, std::string& out) {
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    const Comment comment = line.starts_with('#') ? read_comment(line) : Comment{};
    if (comment.name.empty()) {
      if (!line.empty()) add_line(out, line);
      continue;
    }
    std::string_view name = comment.name, words = comment.words;
    if (name.ends_with(kTotal)) {
      name.remove_suffix(kTotal.size());
    } else if (comment.head == "# TYPE " && words == "counter") {
      words = "unknown";
    }
    out += comment.head;
    out += name;
    out += ' ';
    add_line(out, words);
  }
}

std::string open_metrics(std::string_view page) {
  std::string out;
  out.reserve(page.size() + 64);
  open_metrics_lines(page, out);
  out += kOpenMetricsEnd;
  return out;
}

bool accepts_open_metrics(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos;
}

std::string label_text(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    const std::size_t length = text::utf8_length(value);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      value.remove_prefix(1);
      continue;
    }
    if (value.front() == '\n') {
      out += "\\n";
    } else {
      if (value.front() == '"' || value.front() == '\\') out += '\\';
      out += value.substr(0, length);
    }
    value.remove_prefix(length);
  }
  return out;
}

}  // namespace tessera::obs
