#include "openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "fragmentation.h"

namespace tessera::bench {
namespace {

constexpr double kTuning = 1.3;

struct Shape {
  std::uint32_t count;
  std::int64_t cpu_milli, memory_mib;
  std::uint32_t cards;
  std::string_view model;
};
constexpr std::array<Shape, 15> kShapes = {{{549, 96'000, 393'216, 8, "G2"},
                                            {387, 104'000, 524'288, 2, "T4"},
                                            {107, 16'000, 122'880, 2, "P100"},
                                            {39, 128'000, 786'432, 8, "G3"},
                                            {28, 32'000, 131'072, 4, "V100M16"},
                                            {22, 64'000, 262'144, 2, "P100"},
                                            {21, 96'000, 786'432, 8, "V100M32"},
                                            {19, 8'000, 32'768, 1, "V100M16"},
                                            {17, 96'000, 393'216, 4, "T4"},
                                            {9, 48'000, 376'832, 4, "V100M32"},
                                            {7, 64'000, 262'144, 8, "V100M16"},
                                            {3, 8'000, 61'440, 1, "P100"},
                                            {2, 8'000, 61'440, 2, "P100"},
                                            {2, 128'000, 1'048'576, 1, "A10"},
                                            {1, 82'000, 344'064, 8, "V100M16"}}};

Result<std::string> content_of(std::string_view option, const std::string& path) {
  auto content = read_file(path);
  if (!content) return fail(Code::kInvalid, fmt::format("--{}: {}", option, content.error().what));
  return content;
}

/// By the header, as columns may stand in any order.
struct Columns {
  std::size_t cpu, memory, cards, model, all;
};
Result<Columns> read_header(std::string_view line, const std::string& file) {
  const auto names = text::split(line, ',');
  const auto place = [&names](std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const Columns columns{place("cpu_milli"), place("memory_mib"), place("gpu"), place("model"),
                        names.size()};
  if (std::max({columns.cpu, columns.memory, columns.cards, columns.model}) == names.size())
    return fail(Code::kInvalid,
                file + ": the header lacks one of cpu_milli, memory_mib, gpu, model");
  return columns;
}

Result<Machine> read_machine(std::string_view line, const Columns& columns,
                             const std::string& file) {
  const auto fields = text::split(line, ',');
  const auto wrong = [&] {
    return fail(Code::kInvalid, fmt::format("{}: cannot read the row {}", file, text::quote(line)));
  };
  if (fields.size() != columns.all) return wrong();
  const auto cpu = text::parse_int(fields[columns.cpu], 64),
             memory = text::parse_int(fields[columns.memory], 64),
             cards = text::parse_int(fields[columns.cards], 32);
  if (!cpu || !memory || !cards || *cards < 0) return wrong();
  return Machine{*cpu, *memory, static_cast<std::uint32_t>(*cards),
                 std::string(fields[columns.model])};
}

}  // namespace

Result<std::vector<Machine>> read_machines(const std::string& file) {
  std::vector<Machine> machines;
  if (file.empty()) {
    for (const Shape& s : kShapes)
      machines.insert(machines.end(), s.count,
                      {s.cpu_milli, s.memory_mib, s.cards, std::string(s.model)});
    return machines;
  }
  const auto csv = content_of("nodes", file);
  if (!csv) return tl::unexpected(csv.error());
  Result<Columns> columns = fail(Code::kInvalid, file + " is empty");
  bool header = true;
  for (const std::string_view raw : text::split(*csv, '\n')) {
    const std::string_view line = text::trim(raw);
    if (line.empty()) continue;
    if (std::exchange(header, false)) {
      columns = read_header(line, file);
      if (!columns) break;
      continue;
    }
    auto machine = read_machine(line, *columns, file);
    if (!machine) return tl::unexpected(machine.error());
    if (machine->cards > 0) machines.push_back(std::move(*machine));
  }
  if (!columns) return tl::unexpected(columns.error());
  if (machines.empty()) return fail(Code::kInvalid, file + " has no machine with cards");
  return machines;
}

Result<std::vector<sim::TracePod>> read_pods(const std::string& file) {
  if (file.empty()) return sim::parse_trace(sim::builtin_trace(), "built-in list");
  const auto csv = content_of("pods", file);
  if (!csv) return tl::unexpected(csv.error());
  return sim::parse_trace(*csv, file);
}

std::int64_t asked_share(const sim::TracePod& pod) {
  return pod.cards == 1 ? pod.card_milli : pod.cards * kWholeCard;
}

std::int64_t card_capacity(const std::vector<Machine>& machines) {
  std::int64_t sum = 0;
  for (const Machine& m : machines) sum += m.cards * kWholeCard;
  return sum;
}

std::vector<sim::TracePod> arrivals(std::vector<sim::TracePod> list, std::int64_t capacity,
                                    std::mt19937_64& random) {
  const double most = kTuning * static_cast<double>(capacity);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::shuffle(list.begin(), list.end(), random);
  double asked = 0;
  for (const sim::TracePod& pod : list) asked += static_cast<double>(asked_share(pod));
  while (asked > most) {
    const std::size_t out = random() % list.size();
    asked -= static_cast<double>(asked_share(list[out]));
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(out));
  }
  const std::size_t original = list.size();
  for (;;) {
    const sim::TracePod drawn = list[random() % original];
    asked += static_cast<double>(asked_share(drawn));
    if (asked > most) return list;
    list.push_back(drawn);
  }
}

}  // namespace tessera::bench
