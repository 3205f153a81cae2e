/// A text that never changes and that many values share: a copy costs a counter, and whoever keeps
/// many equal ones can make them one (SharedTexts). Reads like a std::string_view.
/// Thread rule: plain values; equal texts of different threads may be one. SharedTexts: one owner.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

namespace tessera {

class SharedText;
template <class T>
concept PlainText = std::convertible_to<const T&, std::string_view> &&
    !std::same_as<std::remove_cvref_t<T>, SharedText>;

class SharedText {
 public:
  SharedText() = default;
  SharedText(const PlainText auto& text) {
    if (const std::string_view view(text); !view.empty())
      text_ = std::make_shared<const std::string>(view);
  }

  std::string_view view() const {
    return text_ == nullptr ? std::string_view() : std::string_view(*text_);
  }
  operator std::string_view() const { return view(); }
  bool empty() const { return text_ == nullptr; }
  std::size_t size() const { return view().size(); }
  /// Nobody else has this very text.
  bool alone() const { return text_.use_count() <= 1; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.view() == b.view();
  }
  friend bool operator==(const SharedText& a, const PlainText auto& b) {
    return a.view() == std::string_view(b);
  }

 private:
  std::shared_ptr<const std::string> text_;  ///< null where it is empty
};

/// One text for all that are equal, as long as anybody has it.
class SharedTexts {
 public:
  void unite(SharedText& text) {
    if (text.empty()) return;
    if (const auto known = texts_.find(text); known != texts_.end()) {
      text = *known;
      return;
    }
    if (texts_.size() >= look_at_) {
      std::erase_if(texts_, [](const SharedText& known) { return known.alone(); });
      look_at_ = std::max(kFewest, 2 * texts_.size());
    }
    texts_.insert(text);
  }
  std::size_t size() const { return texts_.size(); }

 private:
  static constexpr std::size_t kFewest = 64;
  struct Hash {
    std::size_t operator()(const SharedText& text) const {
      return std::hash<std::string_view>{}(text.view());
    }
  };
  std::unordered_set<SharedText, Hash> texts_;
  std::size_t look_at_ = kFewest;  ///< then those that nobody has go
};

}  // namespace tessera
