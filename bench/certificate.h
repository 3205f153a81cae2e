/// A certificate signed by itself, valid for an hour, of the kind that a webhook has (P-256).
/// Thread rule: free function.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::bench {

Status write_certificate(const std::string& certificate_file, const std::string& key_file);

}  // namespace tessera::bench
