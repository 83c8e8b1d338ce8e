#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(MakeError, CarriesCodeReasonAndMetadata) {
  const absl::Status status =
      MakeError(Reason::kFrameLimit, "clip has 20 frames; this server takes up to 10",
                {{"limit", "10"}, {"actual", "20"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(status), Reason::kFrameLimit);
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("limit", "10"), Pair("actual", "20")));
}

TEST(MakeError, KeepsEmptyMetadataValues) {
  const absl::Status status = MakeError(Reason::kInternal, "x", {{"a", ""}, {"b", "2"}});
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("a", ""), Pair("b", "2")));
}

TEST(ReasonOf, IsEmptyForAPlainStatus) {
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), std::nullopt);
  EXPECT_EQ(ReasonOf(absl::OkStatus()), std::nullopt);
}

TEST(AllReasons, HaveDistinctNamesAndErrorCodes) {
  std::set<std::string> names;
  for (const Reason reason : AllReasons()) {
    EXPECT_TRUE(names.insert(std::string(ReasonName(reason))).second) << ReasonName(reason);
    EXPECT_NE(ReasonCode(reason), absl::StatusCode::kOk);
    EXPECT_EQ(ReasonOf(MakeError(reason, "x")), reason);
  }
}

}  // namespace
}  // namespace scanline
