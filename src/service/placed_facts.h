/// What is told of a decision, kept until somebody makes a sentence of it. Thread rule: plain
/// values.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::service {

struct PlacedFacts {
  static constexpr std::size_t kNamed = 5;
  struct Named {
    std::string node;
    double score = 0;
  };
  bool all_answered = false;  ///< scored mode: the caller chooses
  std::size_t fitting = 0, rejected = 0;
  std::array<Named, kNamed> named;  ///< a few of those that fit, the chosen one last
  std::size_t named_count = 0;

  void clear(std::size_t nodes_fitting, std::size_t nodes_rejected) {
    fitting = nodes_fitting;
    rejected = nodes_rejected;
    named_count = 0;
  }
  void add(std::string_view node, double score) {
    named[named_count].node = node;
    named[named_count++].score = score;
  }
};

/// "find fit node(n2), 1 nodes not fit, 2 nodes fit(n1:12.50,n2:25.00)"; in scored mode
/// "3 nodes fit(n1:12.50,…,n2:25.00), 1 nodes not fit; kube-scheduler chooses among them, n2 is
/// held meanwhile".
std::string placed_text(const PlacedFacts& facts);

}  // namespace tessera::service
