#include "client/client_error.h"

#include <grpcpp/support/status.h>

#include <utility>

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace scanline {
namespace {

constexpr char kInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

absl::Status WithInfo(absl::StatusCode code, absl::string_view message,
                      const google::rpc::ErrorInfo& info) {
  absl::Status status(code, message);
  status.SetPayload(kInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

}  // namespace

ClientError ErrorOf(const absl::Status& status) {
  ClientError error{status.code(), "", std::string(status.message()), {}};
  google::rpc::ErrorInfo info;
  const auto payload = status.GetPayload(kInfoUrl);
  if (!payload.has_value() || !info.ParseFromString(std::string(*payload))) return error;
  error.reason = info.reason();
  error.metadata.assign(info.metadata().begin(), info.metadata().end());
  return error;
}

absl::Status MakeClientError(absl::StatusCode code, absl::string_view reason,
                             absl::string_view message, Metadata metadata) {
  google::rpc::ErrorInfo info;
  info.set_domain("scanline");
  info.set_reason(std::string(reason));
  for (auto& [key, value] : metadata) (*info.mutable_metadata())[key] = std::move(value);
  return WithInfo(code, message, info);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  const auto code =
      static_cast<absl::StatusCode>(status.error_code());  // The numbers are the same.
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) {
      if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(&info)) {
        return WithInfo(code, status.error_message(), info);
      }
    }
  }
  return absl::Status(code, status.error_message());
}

}  // namespace scanline
