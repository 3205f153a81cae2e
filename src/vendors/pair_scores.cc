#include "vendors/pair_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::vendors {
namespace {

using Row = PairScores::mapped_type;

Result<Row> row_of(json::Value scores, const std::string& path) {
  Row row;
  if (scores.is_null_or_missing()) return row;
  if (scores.kind() != json::Kind::kObject) {
    return fail(Code::kInvalid, fmt::format("{}: {} is not an object", path, scores.dump()));
  }
  std::optional<Error> error;
  scores.for_each_member([&](std::string_view id, json::Value value) {
    const auto score = value.integer();
    if (!score && !error) {
      error = Error{Code::kInvalid, fmt::format("{}[{}]: {} is not an integer", path,
                                                text::quote(id), value.dump())};
    }
    constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    row.insert_or_assign(std::string(id),
                         static_cast<std::int32_t>(std::clamp(score.value_or(0), kMin, kMax)));
  });
  if (error) return tl::unexpected(*error);
  return row;
}

Status read_element(json::Value element, std::size_t index, PairScores& out) {
  const std::string path = fmt::format("[{}]", index);
  if (element.kind() != json::Kind::kObject) {
    return fail(Code::kInvalid, fmt::format("{}: {} is not an object", path, element.dump()));
  }
  const json::Value id = element.find_ignoring_case("uuid");
  if (!id.is_null_or_missing() && !id.string()) {
    return fail(Code::kInvalid, fmt::format("{}.uuid: {} is not a text", path, id.dump()));
  }
  auto row = row_of(element.find_ignoring_case("score"), path + ".score");
  if (!row) return tl::unexpected(row.error());
  out.try_emplace(std::string(id.string_or("")), std::move(*row));
  return {};
}

}  // namespace

Result<PairScores> decode_pair_scores(std::string_view text) {
  json::Parser parser;
  const auto document = parser.parse(text);
  if (!document) return tl::unexpected(document.error());
  PairScores scores;
  if (document->kind() == json::Kind::kNull) return scores;
  if (document->kind() != json::Kind::kArray) {
    return fail(Code::kInvalid, fmt::format("{} is not a list", document->dump()));
  }
  Status status;
  std::size_t index = 0;
  document->for_each_element([&](json::Value element) {
    if (status) status = read_element(element, index++, scores);
  });
  if (!status) return tl::unexpected(status.error());
  return scores;
}

void set_links(const PairScores& scores, VendorId vendor, core::NodeSpec& spec) {
  const std::size_t n = spec.devices.size();
  if (scores.empty()) return;
  if (spec.links.size() != n * n) spec.links.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (spec.devices[i].vendor != vendor) continue;
    const auto row = scores.find(spec.devices[i].id);
    if (row == scores.end()) continue;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i || spec.devices[j].vendor != vendor) continue;
      const auto score = row->second.find(spec.devices[j].id);
      if (score != row->second.end()) spec.links[i * n + j] = score->second;
    }
  }
}

void drop_devices(core::NodeSpec& spec, VendorId vendor) {
  const std::size_t n = spec.devices.size();
  std::vector<std::int32_t> links;
  if (spec.links.size() == n * n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (spec.devices[i].vendor == vendor || spec.devices[j].vendor == vendor) continue;
        links.push_back(spec.links[i * n + j]);
      }
    }
  }
  spec.links = std::move(links);
  std::erase_if(spec.devices, [&](const core::Device& d) { return d.vendor == vendor; });
}

}  // namespace tessera::vendors
