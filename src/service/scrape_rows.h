/// What the sections of a page of metrics are written from: rows of nodes, read from the picture
/// node by node, and of quotas. Internal to the page. Thread rule: one owner, on the scrape worker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/scrape.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// Lines of a page, appended to a text.
class Page {
 public:
  explicit Page(std::string& text) : text_(text) {}
  void family(std::string_view name, std::string_view help);
  /// labels: pairs without braces, "" = none.
  void row(std::string_view name, std::string_view labels, double value);
  void plain(std::string_view name, std::string_view help, double value);
  void text(std::string_view lines) { text_ += lines; }

 private:
  std::string& text_;
};

/// The rows of one node after the other. Equal labels twice make a scraper refuse the whole page;
/// they come up when names differ only in bytes that are no UTF-8, or when a pod was made anew
/// under the name of one not gone yet: the later row is left out, of every family alike.
class RowReader {
 public:
  RowReader(const ScrapePicture& picture, const vendors::Vendors& vendors);
  /// Valid until the next call.
  const NodeRows& rows(std::size_t node);
  /// The escaped word of a vendor; "" when there is none of that number.
  std::string_view word(std::uint16_t vendor) const;
  std::size_t duplicates() const { return duplicates_; }

 private:
  enum class Kind : char {
    kDevice = 'd',
    kVendor = 'v',
    kPod = 'p',
    kContainer = 'c',
    kInstance = 'i'
  };
  struct Place {
    Kind kind;
    std::size_t at = 0;
  };
  void read(std::size_t node);
  void find_duplicates();
  void drop(const std::vector<Place>& places);
  template <class Look>
  void each_key(const Look& look);

  const ScrapePicture& picture_;
  std::vector<std::string> words_;  // by vendor
  NodeRows rows_;
  std::map<std::size_t, std::vector<Place>> dropped_;  // by node, usually empty
  std::size_t duplicates_ = 0;
};

/// Of one namespace and resource name.
struct QuotaRow {
  std::string ns, resource;
  std::int64_t used = 0, limit = 0;
  bool limited = false;
};
/// Of one quota object and resource name.
struct QuotaObjectRow {
  std::string ns, quota, resource;
  std::int64_t used = 0, limit = 0;
};
struct QuotaRows {
  std::vector<QuotaRow> quotas;
  std::vector<QuotaObjectRow> objects;
};
QuotaRows quota_rows(const ScrapePicture& picture, const vendors::Vendors& vendors);

double bytes(MiB memory);

}  // namespace tessera::service
