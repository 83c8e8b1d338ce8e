#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// Length of the header that NpyHeader writes: always the same, so that it can be written again in
// place as rows come, and a multiple of 64, so that rows are aligned.
inline constexpr size_t kNpyHeaderBytes = 128;

// What stands before `rows` x `dim` little-endian floats in C order in a NumPy file.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
std::string NpyHeader(int64_t rows, int dim);

struct NpyShape {
  int64_t rows = 0;
  int64_t dim = 0;
  size_t data_at = 0;  // bytes before the first row
};

// Reads the header at the start of `bytes` (10 kB of a file are plenty). INVALID_ARGUMENT where it
// is not one of two-dimensional little-endian float32 in C order.
absl::StatusOr<NpyShape> ParseNpyHeader(absl::string_view bytes);

}  // namespace scanline
