/// A function object that is moved, never copied, and lies in the object itself when it is small:
/// unlike std::function it can own a unique_ptr, and costs no heap. Called as often as wanted.
///   MoveFunction<void()> task = [call = std::move(call)] { … };
/// Thread rule: a plain value.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tessera {

template <class Signature, std::size_t kInside = 48>
class MoveFunction;

/// What may be empty itself, and then makes an empty MoveFunction.
template <class F>
inline constexpr bool kMayBeEmpty = std::is_pointer_v<F> || std::is_member_pointer_v<F>;
template <class Signature>
inline constexpr bool kMayBeEmpty<std::function<Signature>> = true;

template <class R, class... Args, std::size_t kInside>
class MoveFunction<R(Args...), kInside> {
  template <class F>
  static constexpr bool kFits =
      sizeof(F) <= kInside &&
      alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

 public:
  MoveFunction() = default;
  MoveFunction(std::nullptr_t) {}
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, MoveFunction> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>) MoveFunction(F&& f) {
    using Held = std::remove_cvref_t<F>;
    if constexpr (kMayBeEmpty<Held>) {
      if (!static_cast<bool>(f)) return;
    }
    if constexpr (kFits<Held>) {
      ::new (static_cast<void*>(inside_)) Held(std::forward<F>(f));
      ways_ = &kInsideWays<Held>;
    } else {
      ::new (static_cast<void*>(inside_))
          std::unique_ptr<Held>(std::make_unique<Held>(std::forward<F>(f)));
      ways_ = &kOutsideWays<Held>;
    }
  }
  MoveFunction(MoveFunction&& other) noexcept { take(other); }
  MoveFunction& operator=(MoveFunction&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take(other);
    return *this;
  }
  ~MoveFunction() { reset(); }

  explicit operator bool() const { return ways_ != nullptr; }
  R operator()(Args... args) {
    if (ways_ == nullptr) throw std::bad_function_call();
    return ways_->call(inside_, std::forward<Args>(args)...);
  }
  void reset() {
    if (ways_ != nullptr) std::exchange(ways_, nullptr)->destroy(inside_);
  }

 private:
  struct Ways {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;  ///< leaves nothing at `from`
    void (*destroy)(void*) noexcept;
  };
  template <class Held>
  static Held& at(void* place) {
    return *std::launder(static_cast<Held*>(place));
  }
  template <class Held>
  static void move_held(void* from, void* to) noexcept {
    ::new (to) Held(std::move(at<Held>(from)));
    at<Held>(from).~Held();
  }
  template <class Held>
  static void destroy_held(void* place) noexcept {
    at<Held>(place).~Held();
  }
  template <class Held>
  static R call_held(Held& held, Args&&... args) {
    if constexpr (std::is_void_v<R>) {
      std::invoke(held, std::forward<Args>(args)...);
    } else {
      return std::invoke(held, std::forward<Args>(args)...);
    }
  }
  template <class Held>
  static constexpr Ways kInsideWays = {[](void* place, Args&&... args) -> R {
                                         return call_held(at<Held>(place),
                                                          std::forward<Args>(args)...);
                                       },
                                       &move_held<Held>, &destroy_held<Held>};
  template <class Held>
  static constexpr Ways kOutsideWays = {
      [](void* place, Args&&... args) -> R {
        return call_held(*at<std::unique_ptr<Held>>(place), std::forward<Args>(args)...);
      },
      &move_held<std::unique_ptr<Held>>, &destroy_held<std::unique_ptr<Held>>};

  void take(MoveFunction& other) {
    if (other.ways_ == nullptr) return;
    other.ways_->move(other.inside_, inside_);
    ways_ = std::exchange(other.ways_, nullptr);
  }

  const Ways* ways_ = nullptr;
  alignas(std::max_align_t) std::byte inside_[kInside];
};

}  // namespace tessera
