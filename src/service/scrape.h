/// The picture of the books at /metrics: devices, pods, queues. Copied from the state thread in
/// small portions, so that no decision waits for a scrape, and written as text on the scrape
/// worker. Names and labels of HAMi's series: spec/metrics.md section 2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"
#include "service/books.h"
#include "service/task_thread.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct ScrapeFigures {
  std::size_t bind_waiting = 0, bind_active = 0, reservations = 0, pods = 0, nodes = 0,
              locked_nodes = 0, state_queue = 0;
  bool synced = false;
};

struct ScrapeNode {
  std::string name;
  std::vector<core::Device> devices;
  std::vector<core::Usage> used;
  std::vector<bool> offered;
};
struct ScrapePod {
  std::string ns, name, node;
  std::vector<core::Charge> charges;
  std::vector<core::Grant> grants;
};
struct ScrapePicture {
  ScrapeFigures figures;
  std::vector<ScrapeNode> nodes;
  std::vector<ScrapePod> pods;
};

/// Runs on the scrape worker; waits for the state thread portion by portion. False when that has
/// stopped.
bool take_picture(TaskThread& state, Books& books, const std::function<ScrapeFigures()>& figures,
                  ScrapePicture& picture);

/// Exposition format 0.0.4 without the registered metrics.
std::string picture_text(const ScrapePicture& picture, const vendors::Vendors& vendors,
                         std::string_view version);

/// A label value between quotes: quotes, backslashes, line ends escaped, bytes that are no UTF-8
/// replaced.
std::string label_text(std::string_view value);

}  // namespace tessera::service
