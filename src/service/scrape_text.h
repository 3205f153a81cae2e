/// A picture of the books as a page of metrics, exposition format 0.0.4. HAMi's names and labels:
/// spec/metrics.md sections 2 and 3, with the corrections of section 7; ours start with "tessera_".
/// What each row means: docs/metrics.md. A page is made piece by piece, family by family, each time
/// from the packed nodes: it never lies in memory as a whole. Thread rule: a PicturePage belongs to
/// the scrape worker and may end on any thread; picture_page is a pure function.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/pieces.h"
#include "service/scrape.h"
#include "vendors/vendors.h"

namespace tessera::service {

class PicturePage final : public http::PieceSource {
 public:
  /// `legacy`: the names of HAMi up to 2.8 in addition. `more`: what follows the picture, asked for
  /// when all before it is made.
  PicturePage(ScrapePicture picture, std::shared_ptr<const vendors::Vendors> vendors,
              std::string_view version, bool legacy, std::function<std::string()> more);
  ~PicturePage() override;
  /// A piece is whole lines.
  http::Piece next(std::string& piece) override;
  /// Rows left out because an equal one was there already.
  std::size_t duplicates() const;

 private:
  class Sections;
  const std::unique_ptr<Sections> sections_;
};

struct ScrapePage {
  std::string text;
  std::size_t duplicates = 0;
};

/// All pieces in one.
ScrapePage picture_page(const ScrapePicture& picture, const vendors::Vendors& vendors,
                        std::string_view version, bool legacy);

}  // namespace tessera::service
