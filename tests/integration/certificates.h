/// Certificates for tests, made at run time. Thread rule: pure functions.
#pragma once

#include <string>

namespace tessera::test {

struct KeyPair {
  std::string certificate, key;  ///< PEM
};

/// A certificate that vouches for itself, valid for an hour.
KeyPair make_pair(const std::string& common_name);

}  // namespace tessera::test
