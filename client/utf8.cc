#include "client/utf8.h"

#include <cstddef>
#include <cstdint>

namespace scanline {
namespace {

// The bytes of a character that begins with `lead`, and the least code point that needs them.
struct Form {
  size_t bytes = 0;  // 0: nothing begins so
  uint32_t least = 0;
};
Form FormOf(unsigned char lead) {
  if (lead < 0x80) return {1, 0};
  if (lead >= 0xC2 && lead < 0xE0) return {2, 0x80};
  if (lead >= 0xE0 && lead < 0xF0) return {3, 0x800};
  if (lead >= 0xF0 && lead < 0xF5) return {4, 0x10000};
  return {};
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const Form form = FormOf(lead);
    if (form.bytes == 0 || form.bytes > text.size()) return false;
    uint32_t code = form.bytes == 1 ? lead : lead & (0x7FU >> form.bytes);
    for (size_t i = 1; i < form.bytes; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xC0) != 0x80) return false;
      code = code << 6 | (byte & 0x3FU);
    }
    if (code < form.least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    text.remove_prefix(form.bytes);
  }
  return true;
}

}  // namespace scanline
