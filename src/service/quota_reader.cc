// A ResourceQuota as the state thread sees it; what it says of devices is read by vendors.
#include <utility>

#include "k8s/decode.h"
#include "service/facts.h"

namespace tessera::service {

Result<QuotaFact> FactReader::read_quota(json::Value object) const {
  const auto quota = k8s::decode_quota(object, keep_);
  if (!quota) return tl::unexpected(quota.error());
  if (quota->ns.empty() || quota->name.empty())
    return fail(Code::kInvalid, "metadata.namespace or metadata.name is missing");
  vendors::QuotaReading reading = vendors_->read_quota(*quota);
  QuotaFact fact;
  fact.generation = generation_;
  fact.version = version_number(quota->resource_version);
  fact.spec = std::move(reading.spec);
  fact.warnings = std::move(reading.problems);
  for (std::string& warning : reading.warnings) fact.warnings.push_back(std::move(warning));
  return fact;
}

}  // namespace tessera::service
