#include "fuzz/fuzz.h"
#include "label_priority/call.h"

using namespace tessera;

namespace {

void check(const std::string& body, const label_priority::Rules& rules) {
  const auto read = label_priority::Call::read(body, rules);
  json::Parser parser;
  if (!fuzz::accepted(read)) {
    fuzz::require(parser.parse(label_priority::filter_error(read.error().what)).has_value(),
                  "an error answer is valid JSON");
    return;
  }
  label_priority::Call& call = **read;
  if (call.names_only()) {
    call.look_up([](std::string_view name) -> label_priority::NodeLabel {
      if (name.size() % 3 == 0) return {};
      return {label_priority::LabelState::kNumber, static_cast<std::int64_t>(name.size())};
    });
  }
  std::size_t kept = 0;
  const auto all = parser.parse(call.filter());
  fuzz::require(all.has_value(), "filter answers valid JSON");
  kept = (*all)["NodeNames"].size();
  const auto one = parser.parse(call.filter_only_one());
  fuzz::require(one.has_value(), "filter_onlyone answers valid JSON");
  fuzz::require((*one)["NodeNames"].size() == (kept > 0 ? 1U : 0U), "one of those that pass");
  const auto scores = parser.parse(call.prioritize());
  fuzz::require(scores.has_value(), "prioritize answers valid JSON");
  fuzz::require(scores->size() <= kept, "no points for nodes that do not pass");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(fuzz::as_text(data, size));
  label_priority::Rules rules;
  check(body, rules);
  rules.normalised = true;
  rules.label_required = false;
  check(body, rules);
  check(body, {.compat = true});
  return 0;
}
