#include "client/cli/exit_code.h"

#include <gtest/gtest.h>

#include "client/cli/local_error.h"
#include "client/cli/outcome.h"

namespace scanline::cli {
namespace {

ClientError Error(absl::StatusCode code, const char* reason) { return {code, reason, "why", {}}; }

TEST(ExitCodeOf, FollowsTheContract) {
  using absl::StatusCode;
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kInvalidArgument, "VIDEO_UNREADABLE")), 1);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kOutOfRange, "SEGMENT_OUT_OF_RANGE")), 1);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kResourceExhausted, "QUEUE_FULL")), 1);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kInternal, "")), 1);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kUnavailable, kConnectionRefused)), 3);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kUnavailable, "MODEL_LOADING")), 3);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kNotFound, "MODEL_NOT_FOUND")), 4);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kFailedPrecondition, "TASK_UNSUPPORTED")), 4);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kFailedPrecondition, "STREAM_PROTOCOL")), 1);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kUnauthenticated, "AUTH_MISSING")), 5);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kPermissionDenied, "AUTH_DENIED")), 5);
  EXPECT_EQ(ExitCodeOf(Error(StatusCode::kCancelled, "")), 130);
}

TEST(ExitCodeOf, DoesNotTakeAFilesPermissionsForTheServers) {
  EXPECT_EQ(ExitCodeOf(Error(absl::StatusCode::kPermissionDenied, kFileUnreadable)), 1);
  EXPECT_EQ(ExitCodeOf(Error(absl::StatusCode::kNotFound, kFileNotFound)), 1);
}

TEST(Sentence, SaysWhatInWordsAndNamesTheReason) {
  EXPECT_EQ(Sentence({absl::StatusCode::kInvalidArgument,
                      "VIDEO_UNREADABLE",
                      "no known container in the first 2.1 kB",
                      {}}),
            "not a video (VIDEO_UNREADABLE): no known container in the first 2.1 kB");
  EXPECT_EQ(Sentence(Error(absl::StatusCode::kDeadlineExceeded, "EXPIRED_IN_QUEUE")),
            "out of time (EXPIRED_IN_QUEUE): why");
  EXPECT_EQ(Sentence(Error(absl::StatusCode::kDataLoss, "SOMETHING_NEW")),
            "data loss (SOMETHING_NEW): why");
  EXPECT_EQ(Sentence(Error(absl::StatusCode::kInternal, "")), "internal (INTERNAL): why");
  EXPECT_EQ(Sentence({absl::StatusCode::kNotFound, kFileNotFound, "no such file", {}}),
            "no such file (FILE_NOT_FOUND)");
}

}  // namespace
}  // namespace scanline::cli
