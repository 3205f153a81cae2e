// The node whose label carries the largest number; what nodes hold is not looked at.
#include "policies/label_priority.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

class LabelPriority final : public core::NodePolicy {
 public:
  std::string_view name() const override { return "label-priority"; }
  std::int64_t key(const core::NodeView& view) const override { return view.label_priority; }
};

constexpr std::size_t kLongestName = 63, kLongestPrefix = 253;

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_label_word(std::string_view word, std::size_t longest, std::string_view between) {
  if (word.empty() || word.size() > longest) return false;
  if (!alphanumeric(word.front()) || !alphanumeric(word.back())) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) {
    return alphanumeric(c) || between.find(c) != std::string_view::npos;
  });
}

}  // namespace

Status check_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  const bool prefixed = slash != std::string_view::npos;
  const std::string_view name = prefixed ? key.substr(slash + 1) : key;
  const bool good = is_label_word(name, kLongestName, "-_.") &&
                    (!prefixed || is_label_word(key.substr(0, slash), kLongestPrefix, "-."));
  if (good) return {};
  return fail(Code::kInvalid, fmt::format("{} is not the key of a label", text::quote(key)));
}

Result<std::int64_t> read_label_priority(std::string_view value) {
  const auto number = text::parse_int(value, 64);
  if (number) return number;
  return fail(Code::kInvalid, fmt::format("{} is not a whole number of 64 bits; it counts as 0",
                                          text::quote(value)));
}

const core::NodePolicy& label_priority() {
  static const LabelPriority policy;
  return policy;
}

}  // namespace tessera::policies
