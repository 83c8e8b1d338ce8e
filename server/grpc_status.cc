#include "server/grpc_status.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/log.h"
#include "server/to_proto.h"

namespace scanline {
namespace {

constexpr char kDomain[] = "scanline";
constexpr size_t kLongestMessage = 1000;  // gRPC's own limit is 8 KiB for all trailers

std::string Find(const Metadata& metadata, absl::string_view key, absl::string_view otherwise) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return value;
  }
  return std::string(otherwise);
}

void AddDetail(const google::protobuf::Message& detail, google::rpc::Status* status) {
  status->add_details()->PackFrom(detail);
}

void AddViolation(const std::string& field, const std::string& description,
                  google::rpc::Status* status) {
  google::rpc::BadRequest detail;
  auto* const violation = detail.add_field_violations();
  violation->set_field(field);
  violation->set_description(description);
  AddDetail(detail, status);
}

// The detail beside ErrorInfo that belongs to the reason: the table of docs/errors.md.
void AddOwnDetail(Reason reason, const Metadata& metadata, const std::string& message,
                  google::rpc::Status* status) {
  switch (reason) {
    case Reason::kFieldInvalid:
      return AddViolation(Find(metadata, "field", "spec"), message, status);
    case Reason::kVideoUnreadable:
      return AddViolation("content", message, status);
    case Reason::kSegmentOutOfRange:
      return AddViolation("spec.sampling", message, status);
    case Reason::kModelNotFound: {
      google::rpc::ResourceInfo detail;
      detail.set_resource_type("model");
      detail.set_resource_name(Find(metadata, "model", ""));
      detail.set_description(message);
      return AddDetail(detail, status);
    }
    case Reason::kTaskUnsupported:
    case Reason::kStreamProtocol: {
      const bool is_task = reason == Reason::kTaskUnsupported;
      google::rpc::PreconditionFailure detail;
      auto* const violation = detail.add_violations();
      violation->set_type(is_task ? "TASK" : "STREAM");
      violation->set_subject(is_task ? Find(metadata, "model", "") : "payload");
      violation->set_description(message);
      return AddDetail(detail, status);
    }
    default:
      return;
  }
}

grpc::Status Encode(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
          status.SerializeAsString()};
}

}  // namespace

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const auto reason = ReasonOf(status);
  if (!reason.has_value()) return std::nullopt;
  int64_t delay_ms = 1000;
  switch (*reason) {
    case Reason::kQueueFull:
    case Reason::kUploadStorage:
    case Reason::kModelLoading:
    case Reason::kDraining:
    case Reason::kDeviceMemory:
      break;
    default:
      return std::nullopt;
  }
  if (!absl::SimpleAtoi(Find(MetadataOf(status), "retry_delay_ms", ""), &delay_ms)) delay_ms = 1000;
  return absl::Milliseconds(delay_ms);
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::optional<Reason> known = ReasonOf(status);
  const Reason reason = known.value_or(Reason::kInternal);
  const std::string message = std::string(status.message()).substr(0, kLongestMessage);
  const Metadata metadata = MetadataOf(status);

  google::rpc::Status encoded;
  encoded.set_code(static_cast<int>(ReasonCode(reason)));
  encoded.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonName(reason)));
  info.set_domain(kDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  AddDetail(info, &encoded);
  AddOwnDetail(reason, metadata, message, &encoded);
  if (const auto delay = RetryDelay(status); delay.has_value()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToProto(*delay);
    AddDetail(retry, &encoded);
  }
  return Encode(encoded);
}

grpc::Status EndOfCall(const absl::Status& status, absl::string_view method,
                       grpc::CallbackServerContext* context) {
  if (status.code() == absl::StatusCode::kInternal) {
    LogError("%s failed: %s", std::string(method), std::string(status.message()));
  }
  if (const auto delay = RetryDelay(status); delay.has_value()) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms",
                                 absl::StrCat(absl::ToInt64Milliseconds(*delay)));
  }
  return ToGrpcStatus(status);
}

}  // namespace scanline
