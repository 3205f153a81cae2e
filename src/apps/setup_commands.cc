// `tessera render` and `tessera check-config`.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands.h"
#include "apps/files.h"
#include "base/read_file.h"
#include "service/serve_check.h"
#include "setup/check.h"
#include "setup/render.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

namespace tessera::apps {
namespace {

int complain(const std::string& problem) {
  fmt::print(stderr, "tessera: {}\n", problem);
  return 1;
}

/// The resources of the configuration that serve would run with.
Status fill_resources(const CommandLine& line, setup::Offer& offer) {
  if (!setup::places_devices(offer.program)) return {};
  // A device configuration that is checked in the same call is the one in force.
  const std::string& path =
      line.device_config_file.empty() ? line.config_file : line.device_config_file;
  const Result<std::string> yaml = read_device_config(path);
  if (!yaml) return tl::unexpected(yaml.error());
  const Result<vendors::Vendors> vendors = service::make_vendors(*yaml, line.serve.vendor_switches);
  if (!vendors) return tl::unexpected(vendors.error());
  offer.resources = setup::resources_of(*vendors);
  return {};
}

/// True when there is no fault.
bool check_device_config(const std::string& file) {
  const Result<std::string> yaml = read_file(file);
  if (!yaml) return complain(yaml.error().what) == 0;
  const vendors::ConfigResult result =
      vendors::parse_device_config(*yaml, {.ascend = true, .iluvatar = true});
  for (const vendors::ConfigFault& fault : result.faults)
    fmt::print("{}: {}\n", file, fault.text());
  for (const vendors::ConfigFault& note : result.notes)
    fmt::print("{}: note: {}\n", file, note.text());
  if (!result.faults.empty()) return false;
  fmt::print("{}: in order\n", file);
  return true;
}

bool check_scheduler_config(const CommandLine& line) {
  const std::string& file = line.setup.scheduler_config;
  const Result<std::string> text = read_file(file);
  if (!text) return complain("--scheduler-config: " + text.error().what) == 0;
  setup::Offer offer = line.setup.render.offer;
  if (const Status s = fill_resources(line, offer); !s) return complain(s.error().what) == 0;
  const std::vector<setup::Finding> findings = setup::check_scheduler_config(*text, offer);
  for (const setup::Finding& finding : findings) fmt::print("{}: {}\n", file, finding.text());
  if (setup::has_errors(findings)) return false;
  fmt::print("{}: {}\n", file, findings.empty() ? "in order" : "no errors");
  return true;
}

}  // namespace

int run_render(const CommandLine& line) {
  setup::RenderOptions options = line.setup.render;
  if (const Status s = fill_resources(line, options.offer); !s) return complain(s.error().what);
  const Result<std::string> text = setup::render_scheduler_config(options);
  if (!text) return complain(text.error().what);
  fmt::print("{}", *text);
  const std::string flags = setup::flags_beside_policy(options);
  if (!flags.empty()) fmt::print(stderr, "tessera: kube-scheduler also needs {}\n", flags);
  return 0;
}

int run_check_config(const CommandLine& line) {
  bool in_order = line.config_file.empty() || check_device_config(line.config_file);
  if (!line.setup.scheduler_config.empty()) in_order = check_scheduler_config(line) && in_order;
  return in_order ? 0 : 1;
}

}  // namespace tessera::apps
