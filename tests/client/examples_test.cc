// examples/ as a user runs them. `python3` and `grpcurl` are the tests' own
// (tests/requirements.txt);
// ./dev test puts them on the path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/real_server.h"
#include "tests/support/process.h"

namespace scanline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessResult;
using testing::RealServer;

const std::string kExamples = SCANLINE_SOURCE_DIR "/examples";
const std::string kClip = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/m00_zoom_in.mp4";

TEST(Examples, PlainPythonGetsLabelsAndTypedErrors) {
  const RealServer server;
  ASSERT_TRUE(server.ready());
  const std::string no_video = kExamples + "/README.md";
  const ProcessResult result =
      testing::RunProcess({"/usr/bin/env", "python3", kExamples + "/python/classify.py",
                           server.host_port(), kClip, no_video});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr(kClip + "\tzoom_in\t0."));
  EXPECT_THAT(result.err, HasSubstr(no_video + ": INVALID_ARGUMENT VIDEO_UNREADABLE: "));
}

TEST(Examples, GrpcurlGetsLabelsThroughReflection) {
  const RealServer server;
  ASSERT_TRUE(server.ready());
  const ProcessResult result =
      testing::RunProcess({kExamples + "/grpcurl.sh", server.host_port(), kClip});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\"label\": \"zoom_in\""), HasSubstr("\"frame_indices\"")));
}

}  // namespace
}  // namespace scanline
