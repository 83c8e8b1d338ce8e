#include "client/client_error.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(FromGrpcStatus, CarriesWhatErrorInfoSays) {
  google::rpc::Status details;
  details.add_details()->PackFrom(google::rpc::RetryInfo());  // Not what is looked for.
  google::rpc::ErrorInfo info;
  info.set_reason("A_REASON_OF_A_NEWER_SERVER");
  (*info.mutable_metadata())["limit"] = "60";
  details.add_details()->PackFrom(info);
  const absl::Status status = FromGrpcStatus(
      grpc::Status(grpc::INVALID_ARGUMENT, "clip is 412 s long", details.SerializeAsString()));

  const ClientError error = ErrorOf(status);
  EXPECT_EQ(error.code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error.reason, "A_REASON_OF_A_NEWER_SERVER");
  EXPECT_EQ(error.message, "clip is 412 s long");
  EXPECT_THAT(error.metadata, ElementsAre(Pair("limit", "60")));
}

TEST(FromGrpcStatus, WithoutOrWithUnreadableDetailsHasNoReason) {
  for (const char* details : {"", "\xFF\xFF\xFF"}) {
    const auto status = FromGrpcStatus(grpc::Status(grpc::INTERNAL, "broken", details));
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(ErrorOf(status).message, "broken");
    EXPECT_THAT(ErrorOf(status).reason, IsEmpty());
  }
}

TEST(MakeClientError, RoundTrips) {
  const auto error = ErrorOf(MakeClientError(absl::StatusCode::kUnavailable, kConnectionRefused,
                                             "no server", {{"address", "x:1"}}));
  EXPECT_EQ(error.code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(error.reason, "CONNECTION_REFUSED");
  EXPECT_EQ(error.message, "no server");
  EXPECT_THAT(error.metadata, ElementsAre(Pair("address", "x:1")));
}

}  // namespace
}  // namespace scanline
