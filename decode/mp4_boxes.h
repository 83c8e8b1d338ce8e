#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/cancel.h"
#include "decode/byte_input.h"

namespace scanline {

// The first top-level box of a fragmented mp4 (one with a `moof`) that the file ends inside of:
// where it begins. ISO/IEC 14496-12, 4.2: four bytes of size, which counts them, four of type; size
// 1: the real one follows in eight bytes; size 0: up to the end of the file. Nullopt: no fragments,
// every box whole, or boxes that make no sense. An unfragmented file tells by its index what it
// holds, so its boxes are not judged; nor is `mfra`, an index that may be missing. Errors: those of
// `input` and of `cancel`.
absl::StatusOr<std::optional<int64_t>> FindCutFragment(ByteInput& input, const Cancel& cancel);

}  // namespace scanline
