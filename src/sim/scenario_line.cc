#include "sim/scenario_line.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tessera::sim {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

Result<Line> Line::split(std::string_view text, std::string where) {
  Line line(std::move(where));
  std::size_t i = 0;
  while (i < text.size()) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    if (text[i] == '#') break;
    std::string word;
    bool quoted = false;
    for (; i < text.size() && (quoted || !is_blank(text[i])); ++i) {
      if (text[i] == '"') {
        quoted = !quoted;
      } else {
        word += text[i];
      }
    }
    if (quoted) return line.wrong("closing quote missing after", word);
    line.words_.push_back(std::move(word));
  }
  return line;
}

bool Line::take_if(std::string_view word) {
  if (done() || peek() != word) return false;
  ++next_;
  return true;
}

std::string Line::rest() {
  std::vector<std::string> left(words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end());
  next_ = words_.size();
  return text::join(left, " ");
}

tl::unexpected<Error> Line::wrong(std::string_view what, std::string_view word) const {
  return fail(Code::kInvalid, fmt::format("{}: {} {}", where_, what, text::quote(word)));
}
tl::unexpected<Error> Line::wrong(std::string_view what) const {
  return fail(Code::kInvalid, fmt::format("{}: {}", where_, what));
}

std::optional<KeyValue> key_value(std::string_view word) {
  const std::size_t at = word.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  return KeyValue{std::string(word.substr(0, at)), std::string(word.substr(at + 1))};
}

Result<std::int64_t> whole(const Line& line, const KeyValue& kv) {
  const Result<std::int64_t> value = text::parse_int(kv.value, 64);
  if (value && *value >= 0) return *value;
  return line.wrong(fmt::format("{} wants a whole number of at least 0, got", kv.key), kv.value);
}

}  // namespace tessera::sim
