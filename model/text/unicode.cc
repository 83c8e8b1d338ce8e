#include "model/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error.h"

namespace scanline {
namespace {

constexpr int32_t kCapitalIWithDot = 0x130;
constexpr int32_t kCapitalSigma = 0x3A3;
constexpr int32_t kFinalSigma = 0x3C2;
constexpr int32_t kDotAbove = 0x307;

const utf8proc_uint8_t* Bytes(absl::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

bool IsCased(int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// Passed over when a sigma looks for its neighbours (Case_Ignorable of Unicode, by category and the
// marks within words that have none of these).
bool IsCaseIgnorable(int32_t code) {
  constexpr std::array<int32_t, 15> kWithinWords = {'\'',   '.',    ':',    0xB7,   0x387,
                                                    0x55F,  0x5F4,  0x2018, 0x2019, 0x2024,
                                                    0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07};
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::find(kWithinWords.begin(), kWithinWords.end(), code) != kWithinWords.end() ||
             code == 0xFF0E || code == 0xFF1A;
  }
}

// Final_Sigma of Unicode: a cased letter before it in the word, none after.
bool EndsWord(const CodePoints& codes, size_t at) {
  size_t before = at;
  while (before > 0 && IsCaseIgnorable(codes[before - 1])) --before;
  if (before == 0 || !IsCased(codes[before - 1])) return false;
  size_t after = at + 1;
  while (after < codes.size() && IsCaseIgnorable(codes[after])) ++after;
  return after == codes.size() || !IsCased(codes[after]);
}

}  // namespace

absl::StatusOr<CodePoints> DecodeUtf8(absl::string_view text) {
  CodePoints codes;
  codes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    int32_t code = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(Bytes(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (bytes <= 0) {
      return MakeError(Reason::kFieldInvalid,
                       absl::StrCat("expected UTF-8, found other bytes at offset ", at));
    }
    codes.push_back(code);
    at += static_cast<size_t>(bytes);
  }
  return codes;
}

void AppendUtf8(int32_t code, std::string* text) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t count = utf8proc_encode_char(code, bytes.data());
  text->append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(count));
}

std::string EncodeUtf8(const CodePoints& codes) {
  std::string text;
  for (const int32_t code : codes) AppendUtf8(code, &text);
  return text;
}

CodePoints LowerCase(const CodePoints& codes) {
  CodePoints lower;
  lower.reserve(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == kCapitalIWithDot) {
      lower.insert(lower.end(), {'i', kDotAbove});
    } else if (codes[i] == kCapitalSigma && EndsWord(codes, i)) {
      lower.push_back(kFinalSigma);
    } else {
      lower.push_back(utf8proc_tolower(codes[i]));
    }
  }
  return lower;
}

int32_t ToLower(int32_t code) { return utf8proc_tolower(code); }

bool IsSpace(int32_t code) {
  if ((code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F) || code == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

CodePoints WithoutAccents(const CodePoints& codes) {
  const std::string text = EncodeUtf8(codes);
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  const utf8proc_ssize_t count =
      utf8proc_decompose(Bytes(text), size, nullptr, 0, UTF8PROC_DECOMPOSE);
  SCANLINE_CHECK(count >= 0);  // Only bytes that are not UTF-8 are refused.
  CodePoints plain(static_cast<size_t>(count));
  utf8proc_decompose(Bytes(text), size, plain.data(), count, UTF8PROC_DECOMPOSE);
  plain.erase(
      std::remove_if(plain.begin(), plain.end(),
                     [](int32_t code) { return utf8proc_category(code) == UTF8PROC_CATEGORY_MN; }),
      plain.end());
  return plain;
}

bool IsControl(int32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
      return true;
    default:
      return false;
  }
}

bool IsPunctuation(int32_t code) {
  if (code < 0x80) {
    const bool alphanumeric = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                              (code >= 'a' && code <= 'z');
    return code > ' ' && code < 0x7F && !alphanumeric;
  }
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

bool IsIdeograph(int32_t code) {
  constexpr std::array<std::array<int32_t, 2>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                              {0x3400, 0x4DBF},
                                                              {0x20000, 0x2A6DF},
                                                              {0x2A700, 0x2B73F},
                                                              {0x2B740, 0x2B81F},
                                                              {0x2B920, 0x2CEAF},
                                                              {0xF900, 0xFAFF},
                                                              {0x2F800, 0x2FA1F}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(),
                     [code](const auto& block) { return code >= block[0] && code <= block[1]; });
}

}  // namespace scanline
