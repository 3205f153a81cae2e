/// How good the nodes were that the latest filter call answered: kube-scheduler asks for the same
/// pod's scores a moment later, and most nodes have not changed by then. A node that has changed is
/// decided anew. Thread rule: owned by the state thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/place.h"
#include "service/books.h"
#include "service/extender_call.h"

namespace tessera::service {

class KeptKeys {
 public:
  struct Entry {
    NodeId node;
    std::uint64_t version = 0;  ///< of the node
    core::NodeKey key;
  };

  /// After the tentative reservation was made: it is part of what must not have changed.
  void keep(const FilterCall& call, const Books& books, const core::Outcome& outcome,
            const std::vector<NodeId>& candidates);
  /// The nodes that fitted, in the order of that call; null when it was another pod, another
  /// version of it, or when something that concerns all nodes has changed since.
  const std::vector<Entry>* of(const FilterCall& call, const Books& books) const;

 private:
  std::string uid_, resource_version_;
  std::shared_ptr<const FactReader> reader_;
  std::uint64_t quotas_ = 0, remade_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tessera::service
