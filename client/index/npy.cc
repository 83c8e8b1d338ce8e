#include "client/index/npy.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace scanline {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kBeforeText = 10;  // magic, version, length of the text (two bytes)

absl::Status NotFloats(absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected a NumPy file of float32 [rows, dim] in C order, found ", found));
}

// What stands behind "'key': " in the header's dictionary, to its end.
absl::string_view ValueOf(absl::string_view text, absl::string_view key) {
  const size_t at = text.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos) return "";
  absl::string_view value = text.substr(at + key.size() + 3);
  absl::ConsumePrefix(&value, " ");
  return value;
}

}  // namespace

std::string NpyHeader(int64_t rows, int dim) {
  std::string text =
      absl::StrFormat("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, dim);
  SCANLINE_CHECK(kBeforeText + text.size() < kNpyHeaderBytes);
  text.resize(kNpyHeaderBytes - kBeforeText - 1, ' ');
  const char length = static_cast<char>(kNpyHeaderBytes - kBeforeText);
  return absl::StrCat(kMagic, absl::string_view("\x01\x00", 2), std::string{length, '\0'}, text,
                      "\n");
}

absl::StatusOr<NpyShape> ParseNpyHeader(absl::string_view bytes) {
  if (bytes.size() < kBeforeText || bytes.substr(0, kMagic.size()) != kMagic) {
    return NotFloats("no NumPy header");
  }
  const auto byte = [bytes](size_t i) {
    return static_cast<size_t>(static_cast<uint8_t>(bytes[i]));
  };
  if (byte(6) != 1) return NotFloats(absl::StrCat("version ", byte(6)));
  const size_t length = byte(8) + (byte(9) << 8);
  if (bytes.size() < kBeforeText + length) return NotFloats("a header that is cut short");
  const absl::string_view text = bytes.substr(kBeforeText, length);
  const bool floats = absl::StartsWith(ValueOf(text, "descr"), "'<f4'") &&
                      absl::StartsWith(ValueOf(text, "fortran_order"), "False");
  absl::string_view shape = ValueOf(text, "shape");
  const size_t comma = shape.find(',');
  const size_t end = shape.find(')');
  NpyShape read{.data_at = kBeforeText + length};
  if (!floats || !absl::ConsumePrefix(&shape, "(") || comma == absl::string_view::npos ||
      end == absl::string_view::npos || end < comma ||
      !absl::SimpleAtoi(shape.substr(0, comma - 1), &read.rows) ||
      !absl::SimpleAtoi(shape.substr(comma, end - 1 - comma), &read.dim) || read.rows < 0 ||
      read.dim < 1) {
    return NotFloats(text);
  }
  return read;
}

}  // namespace scanline
