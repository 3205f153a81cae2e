#include "apps/files.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/text.h"

namespace tessera::apps {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, fmt::format("{}: cannot be opened", path));
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(Code::kUnavailable, fmt::format("{}: cannot be read", path));
  return content;
}

Result<std::string> read_device_config(const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> yaml = read_file(path);
  if (!yaml) return fail(yaml.error().code, "--device-config-file: " + yaml.error().what);
  if (text::trim(*yaml).empty())
    return fail(Code::kInvalid, "--device-config-file: " + path + " is empty");
  return yaml;
}

}  // namespace tessera::apps
