#include "service/placer.h"

#include <utility>

namespace tessera::service {

Placer::Placer(const Books& books, const core::PlaceIndex::Options& options)
    : books_(books), index_(options) {}

void Placer::read(std::span<const std::string_view> names) {
  if (std::exchange(remade_, books_.remade()) != books_.remade()) {
    index_.forget();
    reader_.forget();
  }
  reader_.read(books_.cluster(), names, candidates_);
}

core::PlaceIndex::Choice Placer::choose(const core::Request& request,
                                        const core::PlaceOptions& options) {
  return index_.choose(books_.cluster(), request, candidates_, options);
}

core::Outcome Placer::place(const core::Request& request, const core::PlaceOptions& options) {
  return index_.place(books_.cluster(), request, candidates_, options);
}

}  // namespace tessera::service
