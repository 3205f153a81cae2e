/// Makes the objects of a synthetic cluster as large as those of a real one: a node of 14.5 KB, a
/// pod of 2.4 KB, most of it nothing that a scheduler of devices looks at, and no two the same.
/// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::sim {

/// `object`: as node_object and pod_object write it. `n` and `serial` make it differ from others.
std::string real_size_node(std::string object, std::int64_t n);
std::string real_size_pod(std::string object, std::int64_t serial);

using TextPairs = std::vector<std::pair<std::string, std::string>>;
TextPairs real_node_labels(const std::string& name, std::int64_t n);
TextPairs real_node_annotations();
TextPairs real_pod_annotations(bool runs_with_devices);

/// {"status":…} with which a node of real size reports that it is alive.
std::string heartbeat_status(std::int64_t beat);

}  // namespace tessera::sim
