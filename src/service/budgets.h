/// PodDisruptionBudgets as the API server shows them: which pods each of them is about, and how
/// many more may be disrupted now. Source: decisions D13. Thread rule: owned by the state thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "k8s/objects.h"

namespace tessera::service {

class Budgets {
 public:
  explicit Budgets(const Clock& clock) : clock_(clock) {}

  void apply(k8s::PodDisruptionBudget budget);
  void remove(const std::string& ns, const std::string& name, std::uint64_t version);
  /// A list that began at `begin` named exactly these ("ns/name"): what is older is gone.
  void listed(const std::unordered_set<std::string>& keys, MonoTime begin);
  std::size_t size() const { return rows_.size(); }

  /// How many disruptions each still allows; the place of a budget is its place here.
  std::vector<std::int64_t> allowed() const;
  /// The places of those that count the pod.
  std::vector<std::uint32_t> over(const std::string& ns, const k8s::StringMap& labels) const;

 private:
  struct Row {
    k8s::PodDisruptionBudget budget;
    std::uint64_t version = 0;
    MonoTime touched{};
    std::uint32_t place = 0;
  };
  void number_rows();

  const Clock& clock_;
  std::map<std::string, Row> rows_;  // by "ns/name"
};

}  // namespace tessera::service
