#include "server/grpc_status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"

namespace scanline {
namespace {

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

template <typename Message>
std::optional<Message> Find(const google::rpc::Status& details) {
  for (const auto& any : details.details()) {
    Message message;
    if (any.UnpackTo(&message)) return message;
  }
  return std::nullopt;
}

TEST(GrpcStatus, OkIsOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok()); }

TEST(GrpcStatus, EveryReasonCarriesItsCodeMessageAndErrorInfo) {
  for (const Reason reason : AllReasons()) {
    const grpc::Status status =
        ToGrpcStatus(MakeError(reason, "expected a, found b", {{"limit", "7"}}));
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(ReasonCode(reason)));
    EXPECT_EQ(status.error_message(), "expected a, found b");
    const google::rpc::Status details = Details(status);
    EXPECT_EQ(details.code(), status.error_code());
    EXPECT_EQ(details.message(), status.error_message());
    const auto info = Find<google::rpc::ErrorInfo>(details);
    ASSERT_TRUE(info.has_value()) << ReasonName(reason);
    EXPECT_EQ(info->reason(), ReasonName(reason));
    EXPECT_EQ(info->domain(), "scanline");
    EXPECT_EQ(info->metadata().at("limit"), "7");
  }
}

TEST(GrpcStatus, ExactlyTheReasonsThatPassByThemselvesCarryRetryInfo) {
  const std::set<Reason> retried = {Reason::kQueueFull, Reason::kUploadStorage,
                                    Reason::kModelLoading, Reason::kDraining,
                                    Reason::kDeviceMemory};
  for (const Reason reason : AllReasons()) {
    const absl::Status error = MakeError(reason, "later", {{"retry_delay_ms", "1250"}});
    const auto retry = Find<google::rpc::RetryInfo>(Details(ToGrpcStatus(error)));
    EXPECT_EQ(retry.has_value(), retried.contains(reason)) << ReasonName(reason);
    EXPECT_EQ(RetryDelay(error).has_value(), retried.contains(reason)) << ReasonName(reason);
    if (!retry.has_value()) continue;
    EXPECT_EQ(retry->retry_delay().seconds(), 1);
    EXPECT_EQ(retry->retry_delay().nanos(), 250'000'000);
  }
}

TEST(GrpcStatus, AFieldErrorNamesTheField) {
  const auto detail = Find<google::rpc::BadRequest>(Details(ToGrpcStatus(
      MakeError(Reason::kFieldInvalid, "x: expected 1, found 2", {{"field", "spec.x"}}))));
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->field_violations_size(), 1);
  EXPECT_EQ(detail->field_violations(0).field(), "spec.x");
  EXPECT_EQ(detail->field_violations(0).description(), "x: expected 1, found 2");
}

TEST(GrpcStatus, OtherReasonsNameWhatTheyAreAbout) {
  const auto unreadable = Find<google::rpc::BadRequest>(
      Details(ToGrpcStatus(MakeError(Reason::kVideoUnreadable, "no"))));
  ASSERT_TRUE(unreadable.has_value());
  EXPECT_EQ(unreadable->field_violations(0).field(), "content");

  const auto segment = Find<google::rpc::BadRequest>(
      Details(ToGrpcStatus(MakeError(Reason::kSegmentOutOfRange, "no"))));
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->field_violations(0).field(), "spec.sampling");

  const auto model = Find<google::rpc::ResourceInfo>(
      Details(ToGrpcStatus(MakeError(Reason::kModelNotFound, "no", {{"model", "models/x"}}))));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->resource_name(), "models/x");

  const auto task = Find<google::rpc::PreconditionFailure>(
      Details(ToGrpcStatus(MakeError(Reason::kTaskUnsupported, "no", {{"model", "models/x"}}))));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->violations(0).type(), "TASK");
  EXPECT_EQ(task->violations(0).subject(), "models/x");
}

TEST(GrpcStatus, AnErrorWithoutAReasonIsOurBug) {
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("stray"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(Details(status))->reason(), "INTERNAL");
}

TEST(GrpcStatus, ALongMessageStaysWithinWhatTrailersMayHold) {
  const grpc::Status status =
      ToGrpcStatus(MakeError(Reason::kFieldInvalid, std::string(100'000, 'x')));
  EXPECT_LT(status.error_message().size() + status.error_details().size(), 6'000);
}

}  // namespace
}  // namespace scanline
