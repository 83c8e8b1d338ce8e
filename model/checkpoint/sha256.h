#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"

struct evp_md_ctx_st;

namespace scanline {

// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void Add(absl::Span<const uint8_t> bytes);
  std::string Hex();  // of all that was added; call once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace scanline
