/// What tells one vendor's node agent from another's: resource names and annotation keys.
/// Source: spec/node-agent-protocol.md section 9, spec/devices/*.md. Thread rule: plain values.
#pragma once

#include <string>
#include <string_view>

namespace tessera::sim {

struct AgentVendor {
  std::string word;            ///< in device texts; models contain it
  std::string count_resource;  ///< published in the node's status
  std::string register_key;    ///< node annotation, "" = registered by capacity alone
  std::string handshake_key;   ///< rewritten as `Reported <time>`; "" = the agent writes none
  std::string to_allocate_key, allocated_key;  ///< pod annotations; the first may be ""
  std::string mig_key;                 ///< pod annotation with reserved instances, "" = none
  bool capacity_counts_cards = false;  ///< one card, one unit; else the sum of slots
  bool needs_lock = true;              ///< Allocate finds its pod by the node lock
  // What may not be passed: some agents do not divide a card by slots or by cores.
  bool counts_slots = true, counts_cores = true;
  std::int64_t least_cores = 0;  ///< cores registered in another unit are granted in percent
};

AgentVendor nvidia_agent();
/// One agent per chip name: "Ascend910B3" and so on.
AgentVendor ascend_agent(std::string_view word);
AgentVendor kunlun_agent();  ///< whole cards, by capacity
AgentVendor xpu_agent();     ///< slices of cards

}  // namespace tessera::sim
