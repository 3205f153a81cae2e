#include "service/config_reload.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "obs/log.h"
#include "service/serve_check.h"

namespace tessera::service {
namespace {

/// A file that has just changed may still be written: it is read when it has kept still for this
/// long.
constexpr std::chrono::milliseconds kKeepsStill{200};

obs::Counter reloads(obs::Metrics& metrics, const std::string& result) {
  return metrics.counter("tessera_device_config_reloads_total",
                         "Changes of the device configuration file, by what became of them.",
                         {{"result", result}});
}

}  // namespace

ConfigReload::ConfigReload(Options options, Hooks hooks, obs::Metrics& metrics)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      applied_(reloads(metrics, "applied")),
      refused_(reloads(metrics, "refused")),
      seen_(options_.in_force) {
  thread_.post([this] { poll(); });
}

ConfigReload::~ConfigReload() { stop(); }

void ConfigReload::stop() { thread_.stop(); }

void ConfigReload::look() {
  thread_.post([this] { examine(true); });
}

std::optional<ConfigReload::Signature> ConfigReload::signature() const {
  struct stat found {};
  if (::stat(options_.path.c_str(), &found) != 0) return std::nullopt;  // follows links
  return Signature{.device = found.st_dev,
                   .inode = found.st_ino,
                   .size = found.st_size,
                   .seconds = found.st_mtim.tv_sec,
                   .nanoseconds = found.st_mtim.tv_nsec};
}

void ConfigReload::poll() {
  examine(false);
  thread_.after(options_.poll, [this] { poll(); });
}

void ConfigReload::examine(bool at_once) {
  const auto now = signature();
  if (!now) {  // between two versions of a mounted directory the file may be away for a moment
    if (!std::exchange(missing_, true))
      log::warn("device configuration file cannot be found; the one in force stays",
                {{"file", options_.path}});
    return;
  }
  missing_ = false;
  if (now == read_ && !at_once) return;
  if (now != noted_ && !at_once) {
    noted_ = now;
    thread_.after(kKeepsStill, [this] { examine(false); });
    return;
  }
  read_ = now;
  read();
}

void ConfigReload::read() {
  const Result<std::string> read = read_file(options_.path);
  if (!read) {
    read_.reset();  // look again with the next poll
    return;
  }
  const std::string& text = *read;
  if (text == seen_) return;
  seen_ = text;
  if (text::trim(text).empty()) return refuse("the file is empty");
  Result<vendors::Vendors> vendors = make_vendors(text, options_.switches);
  if (!vendors) return refuse(vendors.error().what);
  applied_.increment();
  log::info("device configuration has changed and takes effect", {{"file", options_.path}});
  hooks_.adopt(std::move(*vendors));
}

void ConfigReload::refuse(const std::string& problem) {
  refused_.increment();
  log::error("device configuration is refused; the one in force stays",
             {{"file", options_.path}, {"problem", problem}});
  hooks_.refused(problem);
}

}  // namespace tessera::service
