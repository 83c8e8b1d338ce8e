#pragma once

#include <string>

#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// Which frames were looked at: "0.03 0.09 … 0.97 s (16)", frame numbers ("#0 #3 … #47 (16)") where
// the file has no times, "" where the server did not say.
std::string SampledText(const v1::SamplingReport& report);

// The same in at most `width` columns if a shorter form ("0.03 … 0.97 s (16)") makes it fit.
std::string ShortSampledText(const v1::SamplingReport& report, int width);

}  // namespace scanline::cli
