#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace scanline {

// SHA-256 of bytes that come piece by piece.
class Digest {
 public:
  Digest();
  void Add(absl::string_view bytes);
  std::string Finish();  // 32 bytes; to be called once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace scanline
