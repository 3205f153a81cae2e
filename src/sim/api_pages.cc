#include "sim/api_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

constexpr std::size_t kPictures = 32;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Reply expired() {
  return failure(410, "Expired",
                 "The provided continue parameter is too old to display a consistent list result. "
                 "You must start a new list without the continue parameter.");
}

Reply version_too_large(std::uint64_t wanted, std::uint64_t current) {
  return failure(
      504, "Timeout",
      fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current));
}

}  // namespace

std::variant<Page, Reply> Pages::list(const Store& store, const Target& target, const Call& call) {
  const std::string_view limit_text = call.parameter("limit");
  const auto limit =
      limit_text.empty() ? std::optional<std::uint64_t>(0) : parse_number(limit_text);
  if (!limit) return bad_request(fmt::format("limit: invalid value \"{}\"", limit_text));
  if (!call.parameter("continue").empty()) return resume(call, *limit);

  const std::string_view version_text = call.parameter("resourceVersion");
  const auto version =
      version_text.empty() ? std::optional<std::uint64_t>(0) : parse_number(version_text);
  if (!version)
    return bad_request(fmt::format("resourceVersion: Invalid value: \"{}\"", version_text));
  if (*version > store.version()) return version_too_large(*version, store.version());

  const auto selector = Selector::parse(*target.resource, call.parameter("labelSelector"),
                                        call.parameter("fieldSelector"));
  if (!selector) return bad_request(selector.error().what);
  Picture picture{.id = next_id_,
                  .version = store.version(),
                  .objects = store.list(*target.resource, target.space),
                  .filtered = !selector->everything()};
  if (picture.filtered)
    std::erase_if(picture.objects,
                  [&](const ObjectPtr& object) { return !selector->matches(*object); });
  Page page = cut(picture, 0, *limit);
  if (page.token.empty()) return page;
  ++next_id_;
  pictures_.push_back(std::move(picture));
  if (pictures_.size() > kPictures) pictures_.pop_front();
  return page;
}

std::variant<Page, Reply> Pages::resume(const Call& call, std::size_t limit) const {
  const auto decoded = text::base64_decode(call.parameter("continue"));
  const std::vector<std::string_view> parts =
      decoded ? text::split(*decoded, ':') : std::vector<std::string_view>();
  const auto id = parts.size() == 2 ? parse_number(parts[0]) : std::nullopt;
  const auto from = parts.size() == 2 ? parse_number(parts[1]) : std::nullopt;
  if (!id || !from)
    return bad_request(fmt::format("invalid continue token: \"{}\"", call.parameter("continue")));
  const auto picture = std::find_if(pictures_.begin(), pictures_.end(),
                                    [&](const Picture& p) { return p.id == *id; });
  if (picture == pictures_.end() || *from > picture->objects.size()) return expired();
  return cut(*picture, *from, limit);
}

Page Pages::cut(const Picture& picture, std::size_t from, std::size_t limit) {
  const std::size_t left = picture.objects.size() - from;
  const std::size_t count = limit == 0 ? left : std::min(limit, left);
  const auto first = picture.objects.begin() + static_cast<std::ptrdiff_t>(from);
  Page page{.objects = {first, first + static_cast<std::ptrdiff_t>(count)},
            .version = picture.version};
  if (count == left) return page;
  page.token = text::base64_encode(fmt::format("{}:{}", picture.id, from + count));
  if (!picture.filtered) page.remaining = left - count;
  return page;
}

}  // namespace tessera::sim::api
