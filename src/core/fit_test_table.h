/// A row of the fit tables: one node, one pod, and which cards or which words come out. Used by the
/// fit tests only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/core_test_builders.h"

namespace tessera::core::testing {

struct FitCase {
  std::string name;
  std::vector<Busy> cards;
  std::vector<Position> containers;
  std::string want;  // grants_text, or the words of the reject
  std::function<void(Request&, NodeSpec&)> with = {};
};

inline std::string run(const FitCase& row) {
  Cluster cluster{VendorTable(2)};
  const NodeId id = add_busy_node(cluster, "n1", row.cards);
  Request request = pod("p", row.containers);
  if (row.with) {
    NodeSpec spec = cluster.node(id).spec;
    row.with(request, spec);
    cluster.set_node(spec);
  }
  const Fit fit = fit_node(cluster, request, id);
  const std::vector<NodeId> nodes = {id};
  const Outcome oracle = place_oracle(cluster, request, nodes);
  EXPECT_EQ(oracle.decision.has_value(), fit.allocation.has_value()) << "oracle disagrees";
  if (oracle.decision && fit.allocation) {
    EXPECT_EQ(oracle.decision->allocation, *fit.allocation);
    EXPECT_TRUE(cluster.reserve(request.uid, *fit.allocation, {})) << "what fits can be reserved";
  }
  return fit.allocation ? grants_text(*fit.allocation) : fit.reject.text();
}

class FitTable : public ::testing::TestWithParam<FitCase> {};

/// "case 16: two containers" -> "case_16_two_containers".
inline std::string row_name(const ::testing::TestParamInfo<FitCase>& info) {
  std::string name;
  for (const char c : info.param.name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

inline void PrintTo(const FitCase& row, std::ostream* out) { *out << row.name; }

inline Device with(Device device, const std::function<void(Device&)>& change) {
  change(device);
  return device;
}
inline Device with_model(Device device, std::string model) {
  device.model = std::move(model);
  return device;
}
inline Device with_numa(Device device, std::int64_t numa) {
  device.numa = numa;
  return device;
}
inline Device sick(Device device) {
  device.healthy = false;
  return device;
}

inline void fullest_first(Request& request, NodeSpec&) {
  request.device_policies = {&kFullestDevice};
}
inline void bind_numa(Request& request, NodeSpec&) {
  request.constraints.push_back({.vendor = kVendor, .numa_bind = true});
}
inline auto constrained(const std::function<void(Constraints&)>& change) {
  return [change](Request& request, NodeSpec&) {
    Constraints constraints{.vendor = kVendor};
    change(constraints);
    request.constraints.push_back(constraints);
  };
}

}  // namespace tessera::core::testing
