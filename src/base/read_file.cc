#include "base/read_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::size_t kStep = 64 * 1024;

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  errno = 0;
  // Not by iterators: where a read fails they throw.
  std::ifstream in(path, std::ios::binary);
  std::string content;
  while (in && content.size() <= limit) {
    const std::size_t before = content.size();
    const std::size_t step = std::min(kStep, limit + 1 - before);
    content.resize(before + step);
    in.read(content.data() + before, static_cast<std::streamsize>(step));
    content.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  if (content.size() > limit)
    return fail(Code::kInvalid,
                fmt::format("{} is larger than {} bytes", text::quote(path), limit));
  if (in.eof() && !in.bad()) return content;
  const int cause = errno == 0 ? EIO : errno;
  return fail(Code::kNotFound,
              fmt::format("cannot read {}: {}", text::quote(path), std::strerror(cause)));
}

}  // namespace tessera
