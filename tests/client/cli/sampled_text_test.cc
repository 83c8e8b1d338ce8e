#include "client/cli/sampled_text.h"

#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

v1::SamplingReport Times(int count) {
  v1::SamplingReport report;
  for (int i = 0; i < count; ++i) {
    auto* offset = report.add_frame_offsets();
    offset->set_seconds(i);
    offset->set_nanos(250'000'000);
    report.add_frame_indices(static_cast<uint32_t>(10 * i));
  }
  return report;
}

TEST(SampledText, NamesTheFirstTwoTheLastAndHowMany) {
  EXPECT_EQ(SampledText(Times(16)), "0.25 1.25 … 15.25 s (16)");
  EXPECT_EQ(SampledText(Times(3)), "0.25 1.25 2.25 s (3)");
  EXPECT_EQ(SampledText(Times(1)), "0.25 s (1)");
  EXPECT_EQ(SampledText(Times(0)), "");
}

TEST(SampledText, FallsBackToFrameNumbers) {
  v1::SamplingReport report = Times(16);
  report.clear_frame_offsets();
  EXPECT_EQ(SampledText(report), "#0 #10 … #150 (16)");
}

TEST(ShortSampledText, GetsShorterWhereItMust) {
  EXPECT_EQ(ShortSampledText(Times(16), 24), "0.25 1.25 … 15.25 s (16)");
  EXPECT_EQ(ShortSampledText(Times(16), 23), "0.25 … 15.25 s (16)");
}

}  // namespace
}  // namespace scanline::cli
