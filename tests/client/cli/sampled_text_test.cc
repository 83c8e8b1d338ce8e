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
  EXPECT_EQ(SampledText(Times(16), 24), "0.25 1.25 … 15.25 s (16)");
  EXPECT_EQ(SampledText(Times(3), 24), "0.25 1.25 2.25 s (3)");
  EXPECT_EQ(SampledText(Times(1), 24), "0.25 s (1)");
  EXPECT_EQ(SampledText(Times(0), 24), "");
}

TEST(SampledText, FallsBackToFrameNumbers) {
  v1::SamplingReport report = Times(16);
  report.clear_frame_offsets();
  EXPECT_EQ(SampledText(report, 24), "#0 #10 … #150 (16)");
}

TEST(SampledText, GetsShorterWhereItMustAndKeepsTheCount) {
  EXPECT_EQ(SampledText(Times(16), 23), "0.25 … 15.25 s (16)");
  EXPECT_EQ(SampledText(Times(16), 18), "(16)");
}

TEST(SampledText, NamesAFrameOfSeveralWindowsOnceAndCountsItEachTime) {
  v1::SamplingReport twice = Times(16);
  twice.MergeFrom(Times(18));
  EXPECT_EQ(SampledText(twice, 24), "0.25 1.25 … 17.25 s (34)");
  twice.clear_frame_offsets();
  EXPECT_EQ(SampledText(twice, 24), "#0 #10 … #170 (34)");
}

}  // namespace
}  // namespace scanline::cli
