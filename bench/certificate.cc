#include "certificate.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>

namespace tessera::bench {
namespace {

constexpr long kMinute = 60, kHour = 3600;

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(std::FILE* p) const { std::fclose(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

}  // namespace

Status write_certificate(const std::string& certificate_file, const std::string& key_file) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  if (!key || !certificate) return fail(Code::kInternal, "OpenSSL makes no key");
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kMinute);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kHour);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return fail(Code::kInternal, "OpenSSL does not sign");
  const Owned<std::FILE> certificates(std::fopen(certificate_file.c_str(), "we")),
      keys(std::fopen(key_file.c_str(), "we"));
  if (!certificates || !keys || PEM_write_X509(certificates.get(), certificate.get()) == 0 ||
      PEM_write_PrivateKey(keys.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 0)
    return fail(Code::kUnavailable, "cannot write " + certificate_file);
  return {};
}

}  // namespace tessera::bench
