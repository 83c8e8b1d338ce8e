#pragma once

#include <vector>

#include "client/render/ass_script.h"
#include "client/render/contact_sheet.h"

namespace scanline::render {

// Draws scores over time into `area`: a line each, times below, names on top.
void DrawChart(AssScript& script, const PixelRect& area, const std::vector<ScoreLine>& lines);

// Seconds between the marks of a time axis of this length that has room for `marks`: 1, 2 or 5
// times a power of ten up to 10 s, then whole parts of minutes and hours.
double TimeStep(double length, int marks);

// "12 s" below a minute, "1:05" from there, "1:02:03" from an hour.
std::string TimeText(double seconds, double length);

}  // namespace scanline::render
