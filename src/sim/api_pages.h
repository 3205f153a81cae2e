/// Lists in pages. The first page fixes a picture of the list, later pages read from it, as an API
/// server does: what is created or deleted meanwhile does not show. Few pictures are kept; a token
/// of one that is gone gets 410. Thread rule: the owner serialises every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/api_call.h"
#include "sim/api_render.h"
#include "sim/api_selectors.h"

namespace tessera::sim::api {

class Pages {
 public:
  /// Obeys limit, continue, labelSelector, fieldSelector and resourceVersion of the call.
  std::variant<Page, Reply> list(const Store& store, const Target& target, const Call& call);
  void forget() { pictures_.clear(); }

 private:
  struct Picture {
    std::uint64_t id = 0, version = 0;
    std::vector<ObjectPtr> objects;
    bool filtered = false;
  };
  std::variant<Page, Reply> resume(const Call& call, std::size_t limit) const;
  static Page cut(const Picture& picture, std::size_t from, std::size_t limit);

  std::uint64_t next_id_ = 1;
  std::deque<Picture> pictures_;
};

}  // namespace tessera::sim::api
