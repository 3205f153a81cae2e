/// The picture of the books that a page of metrics is made of: devices, pods, quotas, queues. The
/// state thread only copies what has changed since the last page, node by node and never for longer
/// than a slice, so that no decision waits for a scrape. The scrape worker packs what one slice
/// brought before it asks for the next (scrape_pack.h), and makes text of it piece by piece
/// (scrape_text.h). Thread rule: Camera belongs to the scrape worker, which waits while the state
/// thread writes to it; pictures are plain values of immutable parts, any thread may drop one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "service/books.h"
#include "service/scrape_pack.h"
#include "service/task_thread.h"

namespace tessera::service {

struct ScrapeFigures {
  std::size_t bind_waiting = 0, bind_active = 0, reservations = 0, locked_nodes = 0,
              state_queue = 0;
  /// Device pods that run although no device was given to them here.
  std::size_t unassigned_pods = 0;
  struct Cache {
    std::string resource;
    std::size_t objects = 0;
    bool synced = false;
  };
  std::vector<Cache> caches;
  std::map<std::string, std::size_t> allocating;  ///< pods whose agent has not answered, by node
};

struct ScrapeQuotas {
  std::vector<core::QuotaBook::Row> rows;
  std::vector<std::pair<std::string, core::QuotaNeeds>> used;  ///< by namespace
};
struct ScrapePicture {
  ScrapeFigures figures;
  std::vector<std::shared_ptr<const PackedNode>> nodes;
  std::shared_ptr<const ScrapeQuotas> quotas;
};

class Camera {
 public:
  /// Runs on the scrape worker; waits for the state thread slice by slice. False when that has
  /// stopped. `figures` runs on the state thread. `generation` is a number of the vendor table:
  /// when it changes everything is copied anew.
  bool take(TaskThread& state, Books& books, const std::function<ScrapeFigures()>& figures,
            std::uint64_t generation, ScrapePicture& picture);

 private:
  struct Shot {
    std::uint64_t version = 0;
    bool present = false;
    std::shared_ptr<const PackedNode> node;  // null: never taken
  };
  struct Fresh {
    std::uint32_t id = 0;
    std::uint64_t version = 0;
    ScrapeNode node;
  };
  std::uint32_t shoot(Books& books, std::uint32_t first);
  void shoot_node(Books& books, NodeId id);
  void shoot_quotas(const core::QuotaBook& quotas);
  bool same(const Shot& shot, const core::Node& node) const;
  void pack_fresh();

  std::uint64_t generation_ = 0, quota_version_ = 0;
  std::vector<Shot> shots_;   // by node id
  std::vector<Fresh> fresh_;  // what one slice has copied
  std::shared_ptr<const ScrapeQuotas> quotas_;
};

}  // namespace tessera::service
