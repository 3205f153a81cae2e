/// The pods and machines of a real cluster, for replays: the list that is built into the program
/// and a table of the machines, or the CSV files of the whole data set. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/trace.h"

namespace tessera::bench {

struct Machine {
  std::int64_t cpu_milli = 0, memory_mib = 0;
  std::uint32_t cards = 0;
  std::string model;
};

/// `file` "" = all 1,213 machines of the data set with cards, from a table. Columns of a file:
/// cpu_milli, memory_mib, gpu, model; rows without cards are left out.
Result<std::vector<Machine>> read_machines(const std::string& file);
/// `file` "" = the list built into the program, a cut of 500 pods.
Result<std::vector<sim::TracePod>> read_pods(const std::string& file);

/// Of a card, in thousandths.
std::int64_t asked_share(const sim::TracePod& pod);
std::int64_t card_capacity(const std::vector<Machine>& machines);

/// Shuffled, then lengthened by drawing from itself, or cut, until it asks for 1.3 times the
/// capacity.
std::vector<sim::TracePod> arrivals(std::vector<sim::TracePod> list, std::int64_t capacity,
                                    std::mt19937_64& random);

}  // namespace tessera::bench
