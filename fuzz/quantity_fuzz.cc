#include "base/quantity.h"

#include "fuzz/fuzz.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto quantity = Quantity::parse(fuzz::as_text(data, size));
  if (!fuzz::accepted(quantity)) return 0;
  const auto again = Quantity::parse(quantity->canonical());
  fuzz::require(again.has_value(), "canonical text is a quantity");
  fuzz::require(*again == *quantity, "canonical text has the same value");
  fuzz::require(again->canonical() == quantity->canonical(), "canonical text is stable");
  if (quantity->integer()) {
    fuzz::require(quantity->rounded() == *quantity->integer(), "whole numbers round to themselves");
  }
  if (quantity->plain_integer()) {
    fuzz::require(quantity->plain_integer() == quantity->integer(), "plain is exact");
  }
  fuzz::require(quantity->negative() == (quantity->rounded() < 0), "rounding keeps the sign");
  return 0;
}
