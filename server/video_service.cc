#include "server/video_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "server/grpc_status.h"
#include "server/to_proto.h"

namespace scanline {
namespace {

absl::Time Deadline(const grpc::CallbackServerContext& context, const DeadlineRule& rule,
                    absl::Time now) {
  const auto given = context.deadline();
  if (given == std::chrono::system_clock::time_point::max()) return now + rule.none_given;
  return std::min(absl::FromChrono(given), now + rule.most);
}

void Fill(const Reply& reply, v1::AnalyzeClipResponse* response) {
  ToProto(reply, response->mutable_result());
}
void Fill(const Reply& reply, v1::EmbedTextResponse* response) { ToProto(reply, response); }

// One call of one message each way. gRPC calls OnDone after Finish and after OnCancel, if that
// came; only then does the object go, so the pipeline's answer always finds it.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const char* method, grpc::CallbackServerContext* context, Response* response,
            Pipeline* pipeline, Cancel cancel)
      : method_(method),
        context_(context),
        response_(response),
        pipeline_(pipeline),
        cancel_(std::move(cancel)) {}

  // Hands the request, or what is wrong with it, to the pipeline.
  void Submit(absl::StatusOr<Request> request, absl::Time received) {
    pipeline_->Submit(
        std::move(request), received,
        [this](absl::StatusOr<Reply> reply) { Answer(std::move(reply)); }, method_);
  }

  void OnCancel() override {
    cancel_.RequestCancel();
    pipeline_->Sweep();
  }

  void OnDone() override { delete this; }

 private:
  void Answer(absl::StatusOr<Reply> reply) {
    if (reply.ok()) Fill(*reply, response_);
    Finish(EndOfCall(reply.status(), method_, context_));
  }

  const char* const method_;
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  Pipeline* const pipeline_;
  const Cancel cancel_;
};

// Ends a streaming call at once.
template <typename Reactor>
class Refusal final : public Reactor {
 public:
  explicit Refusal(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

grpc::Status NotServed(const std::string& what) {
  return {grpc::StatusCode::UNIMPLEMENTED,
          what + " is not served by this version; AnalyzeClip and UploadClip take a whole clip"};
}

}  // namespace

template <typename Message, typename Response>
grpc::ServerUnaryReactor* VideoService::Take(const char* method,
                                             grpc::CallbackServerContext* context,
                                             const Message* request, Response* response) {
  const absl::Time received = absl::Now();
  const Cancel cancel(Deadline(*context, deadlines_, received));
  auto* const call = new UnaryCall<Response>(method, context, response, pipeline_, cancel);
  // gRPC made this message for this call alone and never looks at it again; taking the bytes out of
  // it saves a copy of up to 16 MiB and lets them go as soon as they are decoded.
  auto& message = const_cast<Message&>(*request);
  call->Submit(FromProto(message, *models_, limits_, cancel), received);
  return call;
}

grpc::ServerUnaryReactor* VideoService::AnalyzeClip(grpc::CallbackServerContext* context,
                                                    const v1::AnalyzeClipRequest* request,
                                                    v1::AnalyzeClipResponse* response) {
  return Take("AnalyzeClip", context, request, response);
}

grpc::ServerUnaryReactor* VideoService::EmbedText(grpc::CallbackServerContext* context,
                                                  const v1::EmbedTextRequest* request,
                                                  v1::EmbedTextResponse* response) {
  return Take("EmbedText", context, request, response);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* VideoService::UploadClip(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  // An upload takes as long as it takes: where no deadline is given, the longest one holds, and
  // idleness ends it.
  const DeadlineRule rule = {.none_given = deadlines_.most, .most = deadlines_.most};
  return UploadCall::Start(uploads_, Cancel(Deadline(*context, rule, absl::Now())), context,
                           response);
}

grpc::ServerBidiReactor<v1::StreamAnalyzeRequest, v1::StreamAnalyzeResponse>*
VideoService::StreamAnalyze(grpc::CallbackServerContext* /*context*/) {
  return new Refusal<grpc::ServerBidiReactor<v1::StreamAnalyzeRequest, v1::StreamAnalyzeResponse>>(
      NotServed("StreamAnalyze"));
}

}  // namespace scanline
