/// An event as it is handed over, before anybody makes a sentence or JSON of it. Thread rule: plain
/// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "service/placed_facts.h"

namespace tessera::service {

enum class EventType : std::uint8_t { kNormal, kWarning };

struct EventTarget {
  std::string_view kind;  ///< "Pod" or "Node"
  std::string_view ns, name, uid;
};

struct EventNote {
  std::string kind, ns, name, uid, reason, message;
  EventType type = EventType::kNormal;
  bool has_facts = false;  ///< the message is still to be made of `facts`
  PlacedFacts facts;
  WallTime happened{};

  EventTarget target() const { return {kind, ns, name, uid}; }
};

}  // namespace tessera::service
