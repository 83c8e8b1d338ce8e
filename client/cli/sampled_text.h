#pragma once

#include <string>

#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// Which frames were looked at, in at most `width` columns: the first two times, the last one and
// how many frames, "0.03 0.09 … 0.97 s (16)"; frame numbers ("#0 #3 … #47 (16)") where the file has
// no times, "" where the server did not say. A frame that several windows share is named once and
// counted each time. Too narrow a column costs the second time, then all of them, never the count.
std::string SampledText(const v1::SamplingReport& report, int width);

}  // namespace scanline::cli
