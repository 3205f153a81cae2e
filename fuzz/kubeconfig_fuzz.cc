// A kubeconfig is written by people and tools: any text gives credentials that are safe to use or
// an error with words in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "client/credentials.h"
#include "client/endpoint.h"
#include "client/secrets.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::client;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto credentials = parse_kubeconfig(text, "/etc/tessera");
  if (!credentials) {
    require(!credentials.error().what.empty());
    return 0;
  }
  const auto endpoint = parse_server(credentials->server);
  require(endpoint.has_value());
  require(endpoint->https || is_loopback(credentials->server));
  require(is_token(credentials->token));
  require(credentials->cert_pem.empty() ||
          !(credentials->key_pem.empty() && credentials->key_file.empty()));
  for (const auto* file : {&credentials->ca_file, &credentials->cert_file, &credentials->key_file,
                           &credentials->token_file}) {
    require(file->empty() || file->front() == '/');
  }
  return 0;
}
