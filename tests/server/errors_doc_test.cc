#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;

TEST(ErrorsDoc, HasARowWithReasonAndCodeForEveryReason) {
  std::ifstream file(SCANLINE_SOURCE_DIR "/docs/errors.md");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_FALSE(text.str().empty());
  for (const Reason reason : AllReasons()) {
    const std::string code = absl::StatusCodeToString(ReasonCode(reason));
    EXPECT_THAT(text.str(), HasSubstr(absl::StrCat("| `", ReasonName(reason), "` | ", code, " |")));
  }
}

}  // namespace
}  // namespace scanline
