/// The PodScheduled message of a waiting pod, said for people. Thread rule: pure function.
///   "0/20 nodes are available: 19 8/8 CardInsufficientMemory, 1 node unregistered."
///   -> "152 cards: too little memory left; 1 node: no registered card"
#pragma once

#include <string>
#include <string_view>

namespace tessera::sim {

/// A message of another form comes back as it is.
std::string reason_in_words(std::string_view message);

}  // namespace tessera::sim
