#include "client/client.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/diagnose.h"
#include "client/utf8.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace scanline {
namespace {

// docs/contracts.md and the server's advice to any client: all addresses of the name in turn,
// only those that say they serve, and up to three more attempts.
constexpr char kServiceConfig[] = R"({
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": ""},
  "methodConfig": [{
    "name": [{"service": "scanline.v1.VideoService", "method": "AnalyzeClip"},
             {"service": "scanline.v1.VideoService", "method": "EmbedText"},
             {"service": "scanline.v1.ModelService"}],
    "retryPolicy": {
      "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
    }
  }]
})";
constexpr int kMaxMessageBytes = 64 << 20;
constexpr size_t kPieceBytes = 512 << 10;
constexpr int kUploadAttempts = 4;
constexpr absl::Duration kSaidTime = absl::Milliseconds(100);  // What messages are rounded to.

std::shared_ptr<grpc::Channel> OpenChannel(const ServerAddress& address, bool watch_health) {
  grpc::ChannelArguments args;
  args.SetServiceConfigJSON(kServiceConfig);
  args.SetInt(GRPC_ARG_INHIBIT_HEALTH_CHECKING, watch_health ? 0 : 1);
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  args.SetMaxSendMessageSize(kMaxMessageBytes);
  // gRPC never retries a call whose messages outgrow this; its default of 256 KiB is less than
  // nearly every clip.
  args.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kMaxMessageBytes);
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", address.host_port()),
                                   grpc::InsecureChannelCredentials(), args);
}

std::chrono::system_clock::time_point After(absl::Duration timeout) {
  return absl::ToChronoTime(absl::Now() + timeout);
}

// What the server says of trying again; nullopt: nothing.
std::optional<absl::Duration> PushBack(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find("grpc-retry-pushback-ms");
  int64_t ms = -1;
  if (found == trailers.end() ||
      !absl::SimpleAtoi(absl::string_view(found->second.data(), found->second.size()), &ms) ||
      ms < 0) {
    return std::nullopt;
  }
  return absl::Milliseconds(ms);
}

// Whether the channel connected; false as soon as an attempt on every address has failed.
bool WaitUntilConnected(grpc::Channel& channel, absl::Duration timeout) {
  const auto deadline = After(timeout);
  for (;;) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, deadline)) return false;
  }
}

// gRPC answers a message with text that is not UTF-8 as if there were no such method.
absl::Status CheckText(absl::string_view field, absl::string_view text) {
  if (IsUtf8(text)) return absl::OkStatus();
  return MakeClientError(absl::StatusCode::kInvalidArgument, ReasonName(Reason::kFieldInvalid),
                         absl::StrCat(field, ": the text is not UTF-8"),
                         {{"field", std::string(field)}});
}

template <typename Texts>
absl::Status CheckTexts(absl::string_view field, const Texts& texts) {
  int i = 0;
  for (const std::string& text : texts) {
    SCANLINE_RETURN_IF_ERROR(CheckText(absl::StrCat(field, "[", i++, "]"), text));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const v1::AnalysisSpec& spec) {
  SCANLINE_RETURN_IF_ERROR(CheckText("spec.model", spec.model()));
  return CheckTexts("spec.match_text.texts", spec.match_text().texts());
}

}  // namespace

Client::Client(const ServerAddress& address, const ClientOptions& options)
    : address_(address),
      options_(options),
      control_channel_(OpenChannel(address, /*watch_health=*/false)),
      video_channel_(OpenChannel(address, /*watch_health=*/true)),
      models_(v1::ModelService::NewStub(control_channel_)),
      videos_(v1::VideoService::NewStub(video_channel_)) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ServerAddress& address,
                                                        const ClientOptions& options) {
  std::unique_ptr<Client> client(new Client(address, options));
  if (WaitUntilConnected(*client->control_channel_, options.connect_timeout)) return client;
  return DiagnoseConnection(
      address, std::min(options.connect_timeout, absl::Seconds(2)),
      absl::StrCat("no gRPC connection within ", absl::FormatDuration(options.connect_timeout)));
}

absl::Status Client::Call(absl::Duration timeout,
                          const std::function<grpc::Status(grpc::ClientContext*)>& make) {
  grpc::ClientContext context;
  if (timeout != absl::InfiniteDuration()) context.set_deadline(After(timeout));
  {
    MutexLock lock(mu_);
    if (cancelled_) return absl::CancelledError("interrupted");
    live_.insert(&context);
  }
  const grpc::Status status = make(&context);
  {
    MutexLock lock(mu_);
    live_.erase(&context);
  }
  return status.ok() ? absl::OkStatus() : Explain(status, timeout);
}

absl::Status Client::Explain(const grpc::Status& status, absl::Duration timeout) {
  const absl::Status plain = FromGrpcStatus(status);
  // Nobody here cancelled the call: a server that stops ends those that it cannot finish so.
  if (plain.code() == absl::StatusCode::kCancelled && !cancelled()) {
    return MakeClientError(absl::StatusCode::kUnavailable, kConnectionFailed,
                           absl::StrCat("the server at ", address_.host_port(), " (",
                                        address_.origin, ") ended the call: ", plain.message()));
  }
  if (!ErrorOf(plain).reason.empty()) return plain;
  if (plain.code() == absl::StatusCode::kUnimplemented) {
    return MakeClientError(absl::StatusCode::kUnavailable, kWrongProtocol,
                           absl::StrCat("the gRPC server at ", address_.host_port(), " (",
                                        address_.origin, ") has no such method: is it Scanline?"));
  }
  if (plain.code() == absl::StatusCode::kDeadlineExceeded) {
    return MakeClientError(
        plain.code(), kNoAnswerInTime,
        absl::StrCat("no answer within ", absl::FormatDuration(absl::Ceil(timeout, kSaidTime))));
  }
  if (plain.code() != absl::StatusCode::kUnavailable) return plain;
  // gRPC's own words for this ("connections to all backends failing") hide which of the two it is.
  if (!WaitUntilConnected(*control_channel_, absl::Seconds(1))) {
    return DiagnoseConnection(address_, absl::Seconds(1), status.error_message());
  }
  return MakeClientError(plain.code(), kServerNotReady,
                         absl::StrCat("the server at ", address_.host_port(), " (", address_.origin,
                                      ") is not ready: ", plain.message()));
}

absl::StatusOr<v1::ClipResult> Client::Classify(std::string content, v1::AnalysisSpec spec,
                                                absl::Duration timeout) {
  SCANLINE_RETURN_IF_ERROR(CheckSpec(spec));
  v1::AnalyzeClipRequest request;
  *request.mutable_spec() = std::move(spec);
  if (request.spec().tasks().empty()) request.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  *request.mutable_content() = std::move(content);
  v1::AnalyzeClipResponse response;
  SCANLINE_RETURN_IF_ERROR(Call(timeout, [&](grpc::ClientContext* context) {
    return videos_->AnalyzeClip(context, request, &response);
  }));
  return std::move(*response.mutable_result());
}

absl::Status Client::SendPieces(const UploadBytes& bytes, const v1::AnalysisSpec& spec,
                                const std::function<void(uint64_t)>& on_sent,
                                grpc::ClientContext* context, v1::UploadClipResponse* response,
                                grpc::Status* status) {
  const auto writer = videos_->UploadClip(context, response);
  v1::UploadClipRequest message;
  *message.mutable_start()->mutable_spec() = spec;
  message.mutable_start()->set_content_bytes(bytes.size);
  message.mutable_start()->set_sha256(bytes.sha256);
  // A failed write means that the server has answered already: Finish says what.
  bool open = writer->Write(message);
  absl::Status read;
  for (uint64_t sent = 0; open;) {
    std::string& chunk = *message.mutable_chunk();
    chunk.resize(kPieceBytes);
    const absl::StatusOr<size_t> count = bytes.read(chunk.data(), chunk.size());
    if (!count.ok()) {
      read = count.status();
      context->TryCancel();
      break;
    }
    if (*count == 0) break;
    chunk.resize(*count);
    open = writer->Write(message);
    sent += *count;
    if (on_sent) on_sent(sent);
  }
  if (open) writer->WritesDone();
  *status = writer->Finish();
  return read;
}

absl::Status Client::WaitToRetry(absl::Duration wait) {
  MutexLock lock(mu_);
  const auto until = After(wait);
  while (!cancelled_ &&
         cancel_all_.wait_until(lock.native(), until) == std::cv_status::no_timeout) {
  }
  return cancelled_ ? absl::CancelledError("interrupted") : absl::OkStatus();
}

absl::StatusOr<v1::ClipResult> Client::Upload(const UploadBytes& bytes, v1::AnalysisSpec spec,
                                              absl::Duration timeout,
                                              const std::function<void(uint64_t)>& on_sent) {
  SCANLINE_RETURN_IF_ERROR(CheckSpec(spec));
  if (spec.tasks().empty()) spec.add_tasks(v1::TASK_CLASSIFY);
  const absl::Time deadline = absl::Now() + timeout;
  for (int attempt = 1;; ++attempt) {
    v1::UploadClipResponse response;
    absl::Status read;
    std::optional<absl::Duration> push_back;
    const absl::Status sent = Call(deadline - absl::Now(), [&](grpc::ClientContext* context) {
      grpc::Status status;
      read = SendPieces(bytes, spec, on_sent, context, &response, &status);
      push_back = PushBack(*context);
      return status;
    });
    if (!read.ok()) return read;
    if (sent.ok()) return std::move(*response.mutable_result());
    const bool may_retry = push_back.has_value() && bytes.rewind && attempt < kUploadAttempts &&
                           absl::Now() + *push_back < deadline;
    if (!may_retry) return sent;
    SCANLINE_RETURN_IF_ERROR(WaitToRetry(*push_back));
    SCANLINE_RETURN_IF_ERROR(bytes.rewind());
  }
}

absl::StatusOr<v1::EmbedTextResponse> Client::EmbedText(absl::string_view model,
                                                        const std::vector<std::string>& texts,
                                                        absl::Duration timeout) {
  SCANLINE_RETURN_IF_ERROR(CheckText("model", model));
  SCANLINE_RETURN_IF_ERROR(CheckTexts("texts", texts));
  v1::EmbedTextRequest request;
  request.set_model(std::string(model));
  for (const std::string& text : texts) request.add_texts(text);
  v1::EmbedTextResponse response;
  SCANLINE_RETURN_IF_ERROR(Call(timeout, [&](grpc::ClientContext* context) {
    return videos_->EmbedText(context, request, &response);
  }));
  return response;
}

absl::StatusOr<std::vector<v1::Model>> Client::ListModels() {
  std::vector<v1::Model> models;
  v1::ListModelsRequest request;
  do {
    v1::ListModelsResponse page;
    SCANLINE_RETURN_IF_ERROR(Call(options_.lookup_timeout, [&](grpc::ClientContext* context) {
      return models_->ListModels(context, request, &page);
    }));
    for (v1::Model& model : *page.mutable_models()) models.push_back(std::move(model));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return models;
}

absl::StatusOr<v1::GetModelResponse> Client::GetModel(absl::string_view name) {
  SCANLINE_RETURN_IF_ERROR(CheckText("name", name));
  v1::GetModelRequest request;
  request.set_name(std::string(name));
  v1::GetModelResponse response;
  SCANLINE_RETURN_IF_ERROR(Call(options_.lookup_timeout, [&](grpc::ClientContext* context) {
    return models_->GetModel(context, request, &response);
  }));
  return response;
}

absl::StatusOr<bool> Client::IsServing() {
  const auto health = ::grpc::health::v1::Health::NewStub(control_channel_);
  ::grpc::health::v1::HealthCheckResponse response;
  SCANLINE_RETURN_IF_ERROR(Call(options_.lookup_timeout, [&](grpc::ClientContext* context) {
    return health->Check(context, {}, &response);
  }));
  return response.status() == ::grpc::health::v1::HealthCheckResponse::SERVING;
}

void Client::CancelAll() {
  MutexLock lock(mu_);
  cancelled_ = true;
  cancel_all_.notify_all();
  for (grpc::ClientContext* context : live_) context->TryCancel();
}

bool Client::cancelled() {
  MutexLock lock(mu_);
  return cancelled_;
}

absl::Status CheckInlineSize(uint64_t bytes, const v1::ServerLimits& limits) {
  const uint64_t limit = limits.max_inline_bytes();
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  return MakeClientError(absl::StatusCode::kInvalidArgument, ReasonName(Reason::kClipTooLarge),
                         absl::StrCat("clip is ", bytes, " bytes; this server takes up to ", limit,
                                      " bytes in one message"),
                         {{"limit", absl::StrCat(limit)}, {"actual", absl::StrCat(bytes)}});
}

absl::Status CheckUploadSize(uint64_t bytes, const v1::ServerLimits& limits) {
  const uint64_t limit = limits.max_upload_bytes();
  if (limit == 0) return CheckInlineSize(bytes, limits);
  if (bytes <= limit) return absl::OkStatus();
  return MakeClientError(
      absl::StatusCode::kInvalidArgument, ReasonName(Reason::kClipTooLarge),
      absl::StrCat("clip is ", bytes, " bytes; this server takes up to ", limit, " bytes"),
      {{"limit", absl::StrCat(limit)}, {"actual", absl::StrCat(bytes)}});
}

}  // namespace scanline
