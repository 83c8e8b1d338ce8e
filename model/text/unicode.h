#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// What text towers need of Unicode; utf8proc's tables (Unicode 15).

namespace scanline {

using CodePoints = std::vector<int32_t>;

// FIELD_INVALID, with the byte's offset, for anything that is not UTF-8 (surrogates and overlong
// forms included).
absl::StatusOr<CodePoints> DecodeUtf8(absl::string_view text);

void AppendUtf8(int32_t code, std::string* text);
std::string EncodeUtf8(const CodePoints& codes);

// As Python's str.lower(), which the official loaders use: U+0130 becomes two code points, a
// capital sigma that ends a word the final form.
CodePoints LowerCase(const CodePoints& codes);

// One code point, by itself (simple case mapping).
int32_t ToLower(int32_t code);

// As Python's str.isspace() and \s of its regular expressions.
bool IsSpace(int32_t code);

// Canonical decomposition (NFD), without the non-spacing marks (category Mn).
CodePoints WithoutAccents(const CodePoints& codes);

bool IsControl(int32_t code);      // categories Cc, Cf, Co and Cs; not tab, LF and CR
bool IsPunctuation(int32_t code);  // categories P*, and what ASCII has beside letters and digits
bool IsIdeograph(int32_t code);    // the CJK blocks that BERT splits character by character

}  // namespace scanline
