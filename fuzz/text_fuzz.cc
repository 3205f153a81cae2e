#include "base/text.h"

#include "fuzz/fuzz.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  for (int bits : {8, 32, 64}) fuzz::accepted(text::parse_int(input, bits));
  fuzz::accepted(text::parse_bool(input));
  for (char c : text::quote(input))
    fuzz::require(static_cast<unsigned char>(c) >= 0x20, "quoted text is one line");
  const auto back = text::base64_decode(text::base64_encode(input));
  fuzz::require(back && *back == input, "base64 reads back");
  fuzz::accepted(text::base64_decode(input));
  return 0;
}
