/// The refusals of one call: each distinct one stands once, with its text; thousands of nodes are
/// refused for a handful of reasons. Keeps its memory between calls. Thread rule: one owner.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/place.h"
#include "core/reject.h"

namespace tessera::service {

class RejectGroups {
 public:
  struct Group {
    core::Reject reject;
    std::string text;
    bool unresolvable = false;
    std::uint32_t nodes = 0;  ///< that were refused so
  };

  void clear();
  /// The group of a refusal; good until clear().
  const Group& add(const core::Reject& reject);
  std::size_t size() const { return used_; }
  const Group& at(std::size_t number) const { return groups_[number]; }
  /// The group's number of each refusal, in the order of add().
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }

 private:
  std::uint32_t number_of(const core::Reject& reject);

  struct Hash {
    std::size_t operator()(const core::Reject& reject) const { return core::hash_of(reject); }
  };
  std::deque<Group> groups_;  // in place: texts are looked at while more come
  std::size_t used_ = 0;
  boost::unordered_flat_map<core::Reject, std::uint32_t, Hash> found_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace tessera::service
