/// The JSON of /v1/explain. Thread rule: owner of the books.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "core/cluster.h"
#include "core/explain.h"
#include "core/request.h"
#include "json/writer.h"
#include "service/facts.h"

namespace tessera::service {

struct ExplainSubject {
  std::string ns, name, uid;
  std::string state;  ///< "pending", "reserved", "bound", "finished", "not stored"
  std::vector<std::string> warnings;
};

struct ExplainScene {
  const core::Cluster& cluster;
  const FactReader& reader;
  core::PlaceOptions options;
  bool leader = true;
  WallTime now{};
  std::size_t limit = 50;  ///< nodes in the answer
};

/// The decision as it would fall now.
std::string explain_request(const ExplainScene& scene, const ExplainSubject& subject,
                            const core::Request& request);
/// A pod whose place is settled, or that asks for nothing; allocation may be null.
std::string explain_settled(const ExplainScene& scene, const ExplainSubject& subject,
                            std::string_view node, const core::Allocation* allocation,
                            std::string_view sentence);

/// Member "annotations": what a Binding would write.
void write_annotations(json::Writer& w, const FactReader& reader,
                       const core::Allocation& allocation, WallTime now);

}  // namespace tessera::service
