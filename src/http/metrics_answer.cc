#include "http/metrics_answer.h"

#include <utility>

#include "http/gzip.h"
#include "obs/exposition.h"

namespace tessera::http {
namespace {

std::string type_of(MetricsForm form) {
  return std::string(form.open ? obs::kOpenMetricsType : obs::kPlainTextType);
}

class OpenPieces final : public PieceSource {
 public:
  explicit OpenPieces(std::unique_ptr<PieceSource> plain) : plain_(std::move(plain)) {}

  Piece next(std::string& piece) override {
    lines_.clear();
    const Piece step = plain_->next(lines_);
    piece.reserve(piece.size() + lines_.size() + obs::kOpenMetricsEnd.size());
    obs::open_metrics_lines(lines_, piece);
    if (step == Piece::kLast) piece += obs::kOpenMetricsEnd;
    return step;
  }

 private:
  const std::unique_ptr<PieceSource> plain_;
  std::string lines_;
};

}  // namespace

MetricsForm metrics_form(const Request& request) {
  return {.open = obs::accepts_open_metrics(request.header("accept")),
          .packed = accepts_gzip(request.header("accept-encoding"))};
}

Response metrics_answer(std::string page, MetricsForm form) {
  Response response{.body = std::move(page)};
  response.content_type = type_of(form);
  if (form.open) response.body = obs::open_metrics(response.body);
  if (form.packed) gzip(response);
  return response;
}

void send_metrics(const Responder& respond, MetricsForm form, std::unique_ptr<PieceSource> page,
                  Producer producer) {
  std::string first;
  const Piece step = page->next(first);
  if (step == Piece::kLast) return respond(metrics_answer(std::move(first), form));
  Response head{.content_type = type_of(form)};
  page = begin_with(std::move(first), step, std::move(page));
  if (form.open) page = std::make_unique<OpenPieces>(std::move(page));
  if (form.packed) gzip(head, page);
  send_pieces(respond, std::move(head), std::move(page), std::move(producer));
}

}  // namespace tessera::http
