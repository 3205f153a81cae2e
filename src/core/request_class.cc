#include "core/request_class.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tessera::core {
namespace {

class KeyWriter {
 public:
  explicit KeyWriter(std::string& out) : out_(out) { out_.clear(); }

  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) KeyWriter& add(T value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    out_.append(bytes.data(), bytes.size());
    return *this;
  }
  /// Policies are told apart by where they are: each exists once.
  KeyWriter& add(const void* policy) { return add(reinterpret_cast<std::uintptr_t>(policy)); }
  /// With its length in front: no two lists of texts look alike.
  KeyWriter& add(std::string_view text) {
    add(text.size());
    out_.append(text);
    return *this;
  }
  KeyWriter& add(const std::vector<std::string>& list) {
    add(list.size());
    for (const std::string& text : list) add(std::string_view(text));
    return *this;
  }

 private:
  std::string& out_;
};

void add(KeyWriter& out, const Position& position) {
  out.add(position.kind).add(position.asks.size());
  for (const DeviceAsk& ask : position.asks) {
    out.add(ask.vendor.v).add(ask.count).add(ask.memory.v).add(ask.memory_percent);
    out.add(ask.cores.v);
  }
}

void add(KeyWriter& out, const Constraints& c) {
  out.add(c.vendor.v).add(c.use_models).add(c.nouse_models).add(c.use_ids).add(c.nouse_ids);
  out.add(c.modes.has_value()).add(std::string_view(c.modes ? *c.modes : std::string_view{}));
  out.add(c.numa_bind).add(c.traits).add(c.core_total.v);
}

}  // namespace

void write_class_key(const Request& request, std::string& key) {
  KeyWriter out(key);
  out.add(request.positions.size());
  for (const Position& position : request.positions) add(out, position);
  out.add(request.constraints.size());
  for (const Constraints& constraints : request.constraints) add(out, constraints);
  out.add(request.node_policy).add(request.node_policy_before).add(request.node_policy_after);
  out.add(request.device_policies.size());
  for (const DevicePolicy* policy : request.device_policies) out.add(policy);
  out.add(request.weights.slots).add(request.weights.cores).add(request.weights.memory);
  out.add(request.mutex).add(request.topology).add(request.mode);
  if (request.mode != ScoreMode::kHami) return;
  out.add(std::string_view(request.hami.device)).add(std::string_view(request.hami.node));
}

}  // namespace tessera::core
