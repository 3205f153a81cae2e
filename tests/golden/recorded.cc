#include "recorded.h"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace tessera::golden {
namespace {

[[noreturn]] void give_up(const std::string& path) {
  std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
  std::exit(1);
}

std::string unpack(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) give_up(path);
  std::string text;
  std::array<char, 1 << 16> block{};
  int got = 0;
  while ((got = gzread(file, block.data(), block.size())) > 0) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  if (got < 0 || gzclose(file) != Z_OK) give_up(path);
  return text;
}

}  // namespace

std::vector<nlohmann::json> read_recorded(const std::string& name) {
  const std::string text = unpack(TESSERA_SOURCE_DIR "/tests/golden/" + name);
  std::vector<nlohmann::json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(nlohmann::json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  if (lines.empty()) give_up(name);
  return lines;
}

}  // namespace tessera::golden
