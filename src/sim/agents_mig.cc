#include "sim/agents_mig.h"

#include <fmt/format.h>

#include "sim/api_value.h"

namespace tessera::sim {
namespace {

using api::Value;

Result<MigRecord> read_record(const Value& v, std::size_t i) {
  const auto container = v["containerIndex"].integer(), device = v["deviceIndex"].integer();
  const Value& place = v["placement"];
  const auto start = place["start"].integer(), size = place["size"].integer();
  const bool complete = container && *container >= 0 && device && *device >= 0 &&
                        !v["gpuUUID"].text().empty() && !v["profile"].text().empty() && start &&
                        *start >= 0 && size && *size > 0;
  if (!complete) return fail(Code::kInvalid, fmt::format("MIG allocation {} is incomplete", i));
  const int ids =
      int{v.has("migUUID")} + int{v.has("gpuInstanceID")} + int{v.has("computeInstanceID")};
  if (ids != 0 && ids != 3)
    return fail(Code::kInvalid, fmt::format("MIG allocation {} has partial runtime identity", i));
  return MigRecord{
      .container = *container,
      .device = *device,
      .card = v["gpuUUID"].text(),
      .profile = v["profile"].text(),
      .placement = {static_cast<std::uint32_t>(*start), static_cast<std::uint32_t>(*size)},
      .realised = ids == 3};
}

}  // namespace

Result<std::vector<MigRecord>> read_mig_records(std::string_view text) {
  std::vector<MigRecord> records;
  if (text.empty()) return records;
  const Result<Value> value = Value::parse(text);
  if (!value) return tl::unexpected(value.error());
  if (!value->is_array()) return fail(Code::kInvalid, "MIG allocations are no array");
  for (const Value& item : value->items()) {
    Result<MigRecord> record = read_record(item, records.size());
    if (!record) return tl::unexpected(record.error());
    records.push_back(std::move(*record));
  }
  return records;
}

std::string realise_mig(std::string_view text) {
  Result<Value> value = Value::parse(text);
  if (!value || !value->is_array()) return std::string(text);
  for (Value& item : value->items()) {
    if (item.has("migUUID")) continue;
    const std::int64_t start = item["placement"]["start"].integer().value_or(0);
    item.make("migUUID") = fmt::format("MIG-{}-{}", item["gpuUUID"].text(), start);
    item.make("gpuInstanceID") = start + 1;
    item.make("computeInstanceID") = 0;
  }
  return value->dump();
}

}  // namespace tessera::sim
