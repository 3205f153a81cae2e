/// The ends that the benchmark programs with options of their own have in common.
#pragma once

#include <fmt/format.h>

namespace tessera::bench {

/// 2: the options are wrong, 1: the run failed or an answer was not right; the reason is printed.
template <class Parse, class Run>
int main_of(const char* program, Parse&& parse, Run&& run) {
  const auto options = parse();
  if (!options) {
    fmt::print(stderr, "{}: {}\n", program, options.error().what);
    return 2;
  }
  const auto status = run(*options);
  if (status) return 0;
  fmt::print(stderr, "{}: {}\n", program, status.error().what);
  return 1;
}

}  // namespace tessera::bench
