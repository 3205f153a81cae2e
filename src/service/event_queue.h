/// Notes of events that wait: warnings go first, and when there is no room the oldest of the others
/// is given up, a warning only where nothing else waits. The memory of their texts is used again
/// and again. Thread rule: one owner at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "service/event_note.h"

namespace tessera::service {

class EventQueue {
 public:
  explicit EventQueue(std::size_t most) : most_(most) {}

  std::size_t size() const { return warnings_.size + others_.size; }

  /// A place at the end, with what an earlier note left in it. `given_up(const EventNote&)` is
  /// called first for the one that makes room. Null: this is the one to give up.
  template <class F>
  EventNote* put(EventType type, F&& given_up) {
    if (size() >= most_) {
      if (type != EventType::kWarning && others_.size == 0) return nullptr;
      Slot& out = others_.size > 0 ? others_.pop() : warnings_.pop();
      given_up(static_cast<const EventNote&>(out));
      free_.push(out);
    }
    if (free_.size == 0) free_.push(*slots_.emplace_back(std::make_unique<Slot>()));
    Slot& slot = free_.pop();
    slot.type = type;
    (type == EventType::kWarning ? warnings_ : others_).push(slot);
    return &slot;
  }

  /// The oldest warning, else the oldest of the others; null when nothing waits. It stays valid
  /// until it is given back.
  EventNote* take() {
    if (size() == 0) return nullptr;
    return warnings_.size > 0 ? &warnings_.pop() : &others_.pop();
  }
  void give_back(EventNote& taken) { free_.push(static_cast<Slot&>(taken)); }

 private:
  struct Slot : EventNote {
    Slot* next = nullptr;
  };
  struct List {
    Slot *first = nullptr, *last = nullptr;
    std::size_t size = 0;

    void push(Slot& slot) {
      slot.next = nullptr;
      (size++ == 0 ? first : last->next) = &slot;
      last = &slot;
    }
    Slot& pop() {
      Slot& slot = *first;
      first = slot.next;
      --size;
      return slot;
    }
  };

  std::size_t most_;
  std::vector<std::unique_ptr<Slot>> slots_;  // each in one of the lists, or taken
  List warnings_, others_, free_;
};

}  // namespace tessera::service
