/// Which ids of devices have been there. Those of a node are few: they are compared one by one,
/// without a set made for them; only an absurd number is hashed. Internal to the module.
/// Thread rule: plain value; the ids must stay where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_set>

namespace tessera::vendors {

class SeenIds {
 public:
  bool has(std::string_view id) const {
    const auto end = few_.begin() + static_cast<std::ptrdiff_t>(count_);
    return std::find(few_.begin(), end, id) != end || (!more_.empty() && more_.contains(id));
  }
  void add(std::string_view id) {
    if (count_ < few_.size()) {
      few_[count_++] = id;
    } else {
      more_.insert(id);
    }
  }

 private:
  std::array<std::string_view, 16> few_;
  std::size_t count_ = 0;
  std::unordered_set<std::string_view> more_;
};

}  // namespace tessera::vendors
