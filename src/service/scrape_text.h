/// A picture of the books as a page of metrics, exposition format 0.0.4. HAMi's names and labels:
/// spec/metrics.md sections 2 and 3, with the corrections of section 7; ours start with "tessera_".
/// What each row means: docs/metrics.md. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "service/scrape.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct ScrapePage {
  std::string text;
  std::size_t duplicates = 0;  ///< rows left out because an equal one was there already
};

/// `legacy`: the names of HAMi up to 2.8 in addition.
ScrapePage picture_page(const ScrapePicture& picture, const vendors::Vendors& vendors,
                        std::string_view version, bool legacy);

}  // namespace tessera::service
