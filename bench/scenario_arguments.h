/// The command line of `scenarios`, and how a scenario reads the options that are its own.
/// Thread rule: plain values.
///   std::int64_t nodes = 1000; std::string policy = "binpack";
///   if (auto s = read_more(options, {{"nodes", &nodes}}, {{"policy", &policy}}); !s) return …;
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenario.h"

namespace tessera::bench {

struct Arguments {
  std::string scenario;  ///< empty: list them
  std::string json_file;
  ScenarioOptions options;
};
/// scenarios [ID [--quick] [--json=FILE] [--compare=URL] [--program=FILE] [--name=value...]]
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

/// Ignores case.
const BenchScenario* find_scenario(std::span<const BenchScenario> all, std::string_view id);
std::string list_of(std::span<const BenchScenario> all);

struct NumberOption {
  std::string_view name;
  std::int64_t* value;
  std::int64_t least = 0;
};
struct TextOption {
  std::string_view name;
  std::string* value;
};
/// Every entry of `more` must be one of these. Errors name the option and what is known.
Status read_more(const ScenarioOptions& options, std::initializer_list<NumberOption> numbers,
                 std::initializer_list<TextOption> texts = {});
/// The same with lists that are put together.
Status read_more(const ScenarioOptions& options, std::span<const NumberOption> numbers,
                 std::span<const TextOption> texts);
/// For scenarios that cannot drive another extender: --compare is an error.
Status refuse_compare(const ScenarioOptions& options);

}  // namespace tessera::bench
