#include "setup/offer.h"

#include <algorithm>
#include <array>

namespace tessera::setup {
namespace {

struct ProgramRow {
  Program program;
  std::string_view word, name;
  bool devices;
};
constexpr std::array<ProgramRow, 4> kPrograms = {{
    {Program::kServe, "serve", "tessera serve", true},
    {Program::kLabelPriority, "label-priority", "tessera label-priority", false},
    {Program::kHami, "hami", "HAMi's scheduler", true},
    {Program::kLabelOriginal, "i-scheduler-extender", "i-scheduler-extender", false},
}};

const ProgramRow& row_of(Program program) {
  return *std::find_if(kPrograms.begin(), kPrograms.end(),
                       [&](const ProgramRow& row) { return row.program == program; });
}

}  // namespace

Verbs verbs_of(Program program) {
  switch (program) {
    case Program::kServe:
      return {{"filter"}, {"prioritize", "priority"}, {"bind"}, {"preempt"}};
    case Program::kLabelPriority:
      return {{"filter", "filter_onlyone"}, {"prioritize", "priority"}, {"bind"}, {}};
    case Program::kHami:
      return {{"filter"}, {}, {"bind"}, {}};
    case Program::kLabelOriginal:
      return {{"filter", "filter_onlyone"}, {"priority"}, {"bind"}, {}};
  }
  return {};
}

std::string_view name_of(Program program) { return row_of(program).name; }
bool places_devices(Program program) { return row_of(program).devices; }

std::optional<Program> parse_program(std::string_view word) {
  const auto at = std::find_if(kPrograms.begin(), kPrograms.end(),
                               [&](const ProgramRow& row) { return row.word == word; });
  return at == kPrograms.end() ? std::nullopt : std::optional(at->program);
}

std::vector<OfferedResource> resources_of(const vendors::Vendors& vendors) {
  std::vector<OfferedResource> resources;
  for (const std::string& name : vendors.resource_names()) {
    const auto counts = [&](const vendors::Vendor& v) { return v.count_resource == name; };
    resources.push_back({name, std::any_of(vendors.all().begin(), vendors.all().end(), counts)});
  }
  return resources;
}

}  // namespace tessera::setup
