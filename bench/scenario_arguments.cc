#include "scenario_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tessera::bench {
namespace {

Status read_number(const NumberOption& option, std::string_view value) {
  const auto number = text::parse_int(value, 64);
  if (!number)
    return fail(Code::kInvalid, fmt::format("--{}: {}", option.name, number.error().what));
  if (*number < option.least)
    return fail(Code::kInvalid,
                fmt::format("--{}: {} is less than {}", option.name, value, option.least));
  *option.value = *number;
  return {};
}

std::string known_names(std::span<const NumberOption> numbers, std::span<const TextOption> texts) {
  std::vector<std::string> names = {"--quick", "--json", "--compare", "--program"};
  for (const auto& option : numbers) names.push_back(fmt::format("--{}", option.name));
  for (const auto& option : texts) names.push_back(fmt::format("--{}", option.name));
  return text::join(names, " ");
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) {
      if (!arguments.scenario.empty())
        return fail(Code::kInvalid, fmt::format("{}: one scenario at a time", word));
      arguments.scenario = word;
      continue;
    }
    if (word == "--quick") {
      arguments.options.quick = true;
      continue;
    }
    const auto equals = word.find('=');
    if (equals == std::string::npos)
      return fail(Code::kInvalid, fmt::format("{}: must be --quick or --name=value", word));
    const std::string name = word.substr(2, equals - 2), value = word.substr(equals + 1);
    if (name == "json") {
      arguments.json_file = value;
    } else if (name == "compare") {
      arguments.options.compare = value;
    } else if (name == "program") {
      arguments.options.program = value;
    } else {
      arguments.options.more.emplace_back(name, value);
    }
  }
  return arguments;
}

const BenchScenario* find_scenario(std::span<const BenchScenario> all, std::string_view id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const BenchScenario& s) {
    return text::equals_ignoring_case(s.id, id);
  });
  return found == all.end() ? nullptr : &*found;
}

std::string list_of(std::span<const BenchScenario> all) {
  std::string out;
  for (const BenchScenario& s : all) out += fmt::format("{}  {}\n", s.id, s.what);
  return out;
}

Status read_more(const ScenarioOptions& options, std::initializer_list<NumberOption> numbers,
                 std::initializer_list<TextOption> texts) {
  return read_more(options, std::span<const NumberOption>(numbers.begin(), numbers.size()),
                   std::span<const TextOption>(texts.begin(), texts.size()));
}

Status read_more(const ScenarioOptions& options, std::span<const NumberOption> numbers,
                 std::span<const TextOption> texts) {
  for (const auto& [name, value] : options.more) {
    const auto number = std::find_if(numbers.begin(), numbers.end(),
                                     [&](const NumberOption& o) { return o.name == name; });
    if (number != numbers.end()) {
      if (auto status = read_number(*number, value); !status) return status;
      continue;
    }
    const auto text = std::find_if(texts.begin(), texts.end(),
                                   [&](const TextOption& o) { return o.name == name; });
    if (text == texts.end())
      return fail(Code::kInvalid,
                  fmt::format("unknown option --{}; known: {}", name, known_names(numbers, texts)));
    *text->value = value;
  }
  return {};
}

Status refuse_compare(const ScenarioOptions& options) {
  if (options.compare.empty()) return {};
  return fail(Code::kInvalid,
              fmt::format("--compare {}: this scenario drives no other extender", options.compare));
}

}  // namespace tessera::bench
