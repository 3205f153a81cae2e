/// Wire forms of devices: register annotations (JSON and text) and pod device texts. Source:
/// spec/device-model.md sections 5, 6. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "json/reader.h"

namespace tessera::vendors {

/// JSON when the first non-blank character is '[', else the text form. Devices carry `vendor`.
/// Duplicate or empty ids, negative numbers and null elements are errors that name the element
/// (W-6).
Result<std::vector<core::Device>> decode_register(std::string_view text, VendorId vendor);
/// For many, one after the other: `parser` lends its memory.
Result<std::vector<core::Device>> decode_register(std::string_view text, VendorId vendor,
                                                  json::Parser& parser);
Result<std::vector<core::Device>> decode_register_json(std::string_view text, VendorId vendor,
                                                       json::Parser& parser);
Result<std::vector<core::Device>> decode_register_text(std::string_view text, VendorId vendor);
std::string encode_register_json(const std::vector<core::Device>& devices);
std::string encode_register_text(const std::vector<core::Device>& devices);

struct DeviceText {
  std::string id, type;
  std::int64_t memory = 0, cores = 0;
};
/// One list per ';'-terminated piece, empty pieces kept (the decoder keeps HAMi's trailing empty
/// one).
Result<std::vector<std::vector<DeviceText>>> decode_pod_devices(std::string_view text);
std::string encode_pod_devices(const std::vector<std::vector<DeviceText>>& positions);

}  // namespace tessera::vendors
