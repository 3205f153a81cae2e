/// What a preemption in progress writes on the preemptor (annotation tessera.io/preemption) before
/// the first eviction, so that a restart or another leader can go on or give up. Source: decisions
/// D13. Thread rule: plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/allocation.h"
#include "k8s/objects.h"

namespace tessera::service {

inline constexpr std::string_view kPreemptionKey = "tessera.io/preemption";

struct PreemptionNote {
  struct Victim {
    std::string uid, ns, name;
    friend bool operator==(const Victim&, const Victim&) = default;
  };
  std::string node;
  k8s::StringMap devices;  ///< the annotations that the pod would get at bind
  std::vector<Victim> victims;
  WallTime deadline{};
};

std::string encode_note(const PreemptionNote& note);
Result<PreemptionNote> decode_note(std::string_view text);

/// The note of a pod as it was read.
struct NoteFact {
  PreemptionNote note;
  std::optional<core::Allocation> allocation;  ///< what `devices` say; of pods not yet bound
  std::string problem;                         ///< why note or devices cannot be read
};

}  // namespace tessera::service
