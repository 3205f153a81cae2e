#include "apps/files.h"

#include "base/read_file.h"
#include "base/text.h"

namespace tessera::apps {

Result<std::string> read_device_config(const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> yaml = read_file(path);
  if (!yaml) return fail(yaml.error().code, "--device-config-file: " + yaml.error().what);
  if (text::trim(*yaml).empty())
    return fail(Code::kInvalid, "--device-config-file: " + path + " is empty");
  return yaml;
}

}  // namespace tessera::apps
