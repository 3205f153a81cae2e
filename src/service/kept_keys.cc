#include "service/kept_keys.h"

namespace tessera::service {

void KeptKeys::keep(const FilterCall& call, const Books& books, const core::Outcome& outcome,
                    const std::vector<NodeId>& candidates) {
  uid_ = call.args.pod.uid;
  resource_version_ = call.args.pod.resource_version;
  reader_ = call.reader;
  quotas_ = books.cluster().quotas().version();
  remade_ = books.remade();
  entries_.clear();
  entries_.reserve(outcome.fitting.size());
  for (std::size_t i = 0; i < outcome.fitting.size(); ++i) {
    const NodeId node = candidates[outcome.fitting[i]];
    entries_.push_back({node, books.cluster().node(node).version, outcome.keys[i]});
  }
}

const std::vector<KeptKeys::Entry>* KeptKeys::of(const FilterCall& call, const Books& books) const {
  const k8s::Pod& pod = call.args.pod;
  const bool same = !pod.uid.empty() && !pod.resource_version.empty() && pod.uid == uid_ &&
                    pod.resource_version == resource_version_ && call.reader == reader_ &&
                    books.cluster().quotas().version() == quotas_ && books.remade() == remade_;
  return same ? &entries_ : nullptr;
}

}  // namespace tessera::service
