#include "service/scrape_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "obs/exposition.h"

namespace tessera::service {
namespace {

using obs::label_text;

constexpr double kBytesPerMiB = 1024 * 1024;

// ---- quotas

constexpr core::QuotaKind kKinds[] = {core::QuotaKind::kMemory, core::QuotaKind::kCores,
                                      core::QuotaKind::kCount};

const std::string& resource_of(const vendors::Vendor& vendor, core::QuotaKind kind) {
  if (kind == core::QuotaKind::kMemory) return vendor.memory_resource;
  return kind == core::QuotaKind::kCores ? vendor.core_resource : vendor.count_resource;
}

using QuotaTable = std::map<std::pair<std::string, std::string>, QuotaRow>;

QuotaRow& quota_row(QuotaTable& table, const std::string& ns, const std::string& resource) {
  QuotaRow& row = table[{ns, resource}];
  row.ns = label_text(ns);
  row.resource = label_text(resource);
  return row;
}

void add_limits(const core::QuotaBook::Row& quota, const vendors::Vendors& vendors,
                QuotaTable& table, QuotaRows& rows) {
  for (const core::QuotaLimit& limit : quota.quota.limits) {
    if (limit.vendor.v >= vendors.all().size()) continue;
    const std::string& resource = resource_of(vendors.at(limit.vendor), limit.kind);
    QuotaRow& row = quota_row(table, quota.quota.ns, resource);
    // Of several objects the lowest limit is the one that counts.
    row.limit = row.limited ? std::min(row.limit, limit.limit) : limit.limit;
    row.limited = true;
    std::int64_t used = 0;
    for (const core::QuotaNeed& need : quota.used) {
      if (need.vendor == limit.vendor) used += need.amount(limit.kind);
    }
    rows.objects.push_back({label_text(quota.quota.ns), label_text(quota.quota.name),
                            label_text(resource), used, limit.limit});
  }
}

void add_quotas(const ScrapeQuotas& quotas, const vendors::Vendors& vendors, QuotaRows& rows) {
  QuotaTable table;
  for (const core::QuotaBook::Row& quota : quotas.rows) add_limits(quota, vendors, table, rows);
  for (const auto& [ns, needs] : quotas.used) {
    for (const core::QuotaNeed& need : needs) {
      if (need.vendor.v >= vendors.all().size()) continue;
      for (const core::QuotaKind kind : kKinds) {
        const std::string& resource = resource_of(vendors.at(need.vendor), kind);
        if (!resource.empty()) quota_row(table, ns, resource).used += need.amount(kind);
      }
    }
  }
  for (auto& [key, row] : table) rows.quotas.push_back(std::move(row));
}

}  // namespace

void Page::family(std::string_view name, std::string_view help) {
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

void Page::row(std::string_view name, std::string_view labels, double value) {
  text_ += name;
  if (!labels.empty()) {
    text_ += '{';
    text_ += labels;
    text_ += '}';
  }
  text_ += ' ';
  // Nearly all values are whole: written as such they take a fraction of the time.
  constexpr double kExact = 1e15;
  if (value > -kExact && value < kExact && value == std::trunc(value)) {
    const fmt::format_int whole(static_cast<std::int64_t>(value));
    text_.append(whole.data(), whole.size());
  } else {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  text_ += '\n';
}

void Page::plain(std::string_view name, std::string_view help, double value) {
  family(name, help);
  row(name, {}, value);
}

double bytes(MiB memory) { return static_cast<double>(memory.v) * kBytesPerMiB; }

QuotaRows quota_rows(const ScrapePicture& picture, const vendors::Vendors& vendors) {
  QuotaRows rows;
  if (picture.quotas != nullptr) add_quotas(*picture.quotas, vendors, rows);
  return rows;
}

// ---- rows of nodes

RowReader::RowReader(const ScrapePicture& picture, const vendors::Vendors& vendors)
    : picture_(picture) {
  for (const vendors::Vendor& vendor : vendors.all()) words_.push_back(label_text(vendor.word));
  find_duplicates();
}

std::string_view RowReader::word(std::uint16_t vendor) const {
  return vendor < words_.size() ? std::string_view(words_[vendor]) : std::string_view();
}

const NodeRows& RowReader::rows(std::size_t node) {
  read(node);
  if (dropped_.empty()) return rows_;
  if (const auto found = dropped_.find(node); found != dropped_.end()) drop(found->second);
  return rows_;
}

void RowReader::read(std::size_t node) {
  unpack(*picture_.nodes[node], rows_);
  std::erase_if(rows_.vendors,
                [this](const NodeVendorRow& row) { return row.vendor >= words_.size(); });
}

/// Of every row on the page: the node, the place on it, and what must not be there twice.
template <class Look>
void RowReader::each_key(const Look& look) {
  std::string key;
  std::size_t node = 0;
  const auto tell = [&](Kind kind, std::size_t at, auto... parts) {
    key.assign(1, static_cast<char>(kind));
    ((key += parts, key += '\n'), ...);  // label texts hold no raw line end
    look(node, Place{kind, at}, key);
  };
  for (; node < picture_.nodes.size(); ++node) {
    read(node);
    for (std::size_t i = 0; i < rows_.devices.size(); ++i) {
      tell(Kind::kDevice, i, rows_.devices[i].node, rows_.devices[i].uuid);
    }
    for (std::size_t i = 0; i < rows_.vendors.size(); ++i) {
      tell(Kind::kVendor, i, rows_.vendors[i].node, word(rows_.vendors[i].vendor));
    }
    for (std::size_t i = 0; i < rows_.pods.size(); ++i) {
      const PodRow& row = rows_.pods[i];
      tell(Kind::kPod, i, row.ns, row.pod, row.node, row.uuid);
    }
    for (std::size_t i = 0; i < rows_.containers.size(); ++i) {
      const ContainerRow& row = rows_.containers[i];
      const fmt::format_int index(row.index);
      tell(Kind::kContainer, i, row.ns, row.pod, row.node, row.uuid,
           std::string_view(index.data(), index.size()));
    }
    for (std::size_t i = 0; i < rows_.instances.size(); ++i) {
      const InstanceRow& row = rows_.instances[i];
      tell(Kind::kInstance, i, row.node, row.uuid, row.profile, row.gpu_instance);
    }
  }
}

/// Eight bytes a row tell that no two are equal, which is the rule; where they do not, a second
/// walk compares the texts.
void RowReader::find_duplicates() {
  const std::hash<std::string_view> hash;
  std::vector<std::size_t> hashes;
  each_key([&](std::size_t, Place, const std::string& key) { hashes.push_back(hash(key)); });
  std::sort(hashes.begin(), hashes.end());
  std::unordered_set<std::size_t> twice;
  for (auto at = hashes.begin(); (at = std::adjacent_find(at, hashes.end())) != hashes.end();
       ++at) {
    twice.insert(*at);
  }
  if (twice.empty()) return;
  std::unordered_set<std::string> seen;
  each_key([&](std::size_t node, Place place, const std::string& key) {
    if (!twice.contains(hash(key)) || seen.insert(key).second) return;
    dropped_[node].push_back(place);
    ++duplicates_;
  });
}

void RowReader::drop(const std::vector<Place>& places) {
  const auto erase = [](auto& rows, std::size_t at) {
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
  };
  // From the last one on, so that the places of those before stay what they are.
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    switch (place->kind) {
      case Kind::kDevice:
        erase(rows_.devices, place->at);
        break;
      case Kind::kVendor:
        erase(rows_.vendors, place->at);
        break;
      case Kind::kPod:
        erase(rows_.pods, place->at);
        break;
      case Kind::kContainer:
        erase(rows_.containers, place->at);
        break;
      case Kind::kInstance:
        erase(rows_.instances, place->at);
        break;
    }
  }
}

}  // namespace tessera::service
