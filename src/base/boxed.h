/// A value that is often not there and large when it is: takes one pointer where it is absent.
/// Reads like std::optional; copies are deep. Thread rule: plain value.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace tessera {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t /*none*/) {}
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(std::optional<T> value) {
    if (value) value_ = std::make_unique<T>(std::move(*value));
  }
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    if (!a || !b) return a.has_value() == b.has_value();
    return *a == *b;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace tessera
