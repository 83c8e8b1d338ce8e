#pragma once

#include <memory>

#include "client/cli/clip_format.h"

namespace scanline::cli {

// A row for each action of each person, for each person without one, and for each failed input.
// Sides in 0..1 of the displayed picture, times in seconds.
std::unique_ptr<ClipFormat> MakeDetectCsv();

// For people: a row for each person, with what they do below each other. `tracks`: people have
// numbers.
std::unique_ptr<ClipFormat> MakeDetectTable(const TableLook& look, bool tracks);

}  // namespace scanline::cli
