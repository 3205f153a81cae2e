/// Objects as a client sees them: with kind and apiVersion, as list items, as Table rows, as watch
/// lines. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

/// The form that a client asked for.
struct View {
  const Resource* as = nullptr;  ///< events can be seen as either of two kinds
  bool table = false;
  std::string include;  ///< of Table rows: Metadata (default), Object, None
};

/// {"kind":"Pod","apiVersion":"v1","metadata":...
std::string object_text(const StoredObject& object, const Resource& as);
std::string show_object(const View& view, const StoredObject& object, WallTime now);

struct Page {
  std::vector<ObjectPtr> objects;
  std::uint64_t version = 0;
  std::string token;          ///< continue; empty on the last page
  std::size_t remaining = 0;  ///< objects after this page; not told when a selector is in use (0)
};
std::string show_list(const View& view, const Page& page, WallTime now);

/// One line of a watch, with its end. `type` is ADDED, MODIFIED, DELETED.
std::string show_change(const View& view, std::string_view type, const StoredObject& object,
                        WallTime now);
std::string show_bookmark(const View& view, std::uint64_t version, bool initial_events_end);

}  // namespace tessera::sim::api
