#include "base/digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace scanline {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  SCANLINE_CHECK(context_ != nullptr);
  SCANLINE_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Digest::Add(absl::string_view bytes) {
  SCANLINE_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Digest::Finish() {
  std::string digest(32, '\0');
  SCANLINE_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                    nullptr) == 1);
  return digest;
}

}  // namespace scanline
