// kube-scheduler's configuration is written by people. Any text gives findings with words; a file
// without errors names every resource of ours once and sends its calls to verbs that are served.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "setup/check.h"

using namespace tessera;

namespace {

setup::Offer offer_for(std::size_t size) {
  setup::Offer offer;
  offer.program = size % 4 == 3 ? setup::Program::kLabelPriority : setup::Program::kServe;
  offer.answer = size % 2 == 0 ? setup::Answer::kSingle : setup::Answer::kScored;
  if (size % 3 != 0) offer.kube_minor = 36;
  if (setup::places_devices(offer.program))
    offer.resources = {{"a.example/card", true}, {"a.example/memory", false}};
  return offer;
}

bool serves(const std::vector<std::string_view>& verbs, const std::string& verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const setup::Offer offer = offer_for(size);
  const std::vector<setup::Finding> findings = setup::check_scheduler_config(text, offer);
  for (const setup::Finding& f : findings) {
    fuzz::require(!f.what.empty() && f.line >= 0, "a finding has words");
    fuzz::require(!f.text().empty(), "and can be shown");
  }
  if (setup::has_errors(findings)) return 0;
  const setup::ReadConfig read = setup::read_scheduler_config(text);
  fuzz::require(read.readable && read.config.form != nullptr, "without errors it was read");
  const auto& extenders = read.config.extenders.value;
  const setup::Verbs verbs = setup::verbs_of(offer.program);
  std::ptrdiff_t named = 0, binders = 0, filters = 0;
  for (const setup::ExtenderConfig& e : extenders) {
    binders += e.bind_verb.value.empty() ? 0 : 1;
    filters += serves(verbs.filter, e.filter_verb.value) ? 1 : 0;
    for (const setup::ManagedResource& managed : e.managed_resources.value) {
      const auto same = [&](const setup::OfferedResource& r) {
        return r.name == managed.name.value;
      };
      named += std::count_if(offer.resources.begin(), offer.resources.end(), same);
    }
  }
  fuzz::require(binders <= 1, "one extender binds");
  fuzz::require(filters >= 1, "somebody filters with a verb that is served");
  fuzz::require(named == static_cast<std::ptrdiff_t>(offer.resources.size()),
                "every resource is managed once");
  return 0;
}
