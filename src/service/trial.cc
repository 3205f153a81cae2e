#include "service/trial.h"

#include <utility>

namespace tessera::service {

void copy_quotas_left(const core::QuotaBook& book, core::Cluster& trial, std::string_view ns) {
  for (core::QuotaBook::Row& row : book.rows()) {
    if (!ns.empty() && row.quota.ns != ns) continue;
    for (core::QuotaLimit& limit : row.quota.limits) {
      for (const core::QuotaNeed& used : row.used)
        if (used.vendor == limit.vendor) limit.limit -= used.amount(limit.kind);
    }
    trial.set_quota(std::move(row.quota));
  }
}

core::Allocation hold_for_trial(const core::Hold& hold) {
  core::Allocation allocation = hold.allocation;
  allocation.subject = {};
  return allocation;
}

void copy_node(const core::Cluster& books, NodeId node, core::Cluster& trial) {
  trial.set_node(books.node(node).spec);
  for (const PodUid& uid : books.holders_on(node))
    trial.confirm(uid, hold_for_trial(*books.hold(uid)));
}

}  // namespace tessera::service
