#pragma once

#include "absl/time/time.h"
#include "scanline/v1/video_service.grpc.pb.h"
#include "server/from_proto.h"
#include "server/pipeline.h"
#include "server/upload_call.h"

namespace scanline {

struct DeadlineRule {
  absl::Duration none_given = absl::Seconds(60);
  absl::Duration most = absl::Minutes(10);
};

// The data plane over gRPC. A handler reads the message into a Request, hands it to the pipeline
// and returns; the pipeline's answer ends the call. Nothing here blocks.
class VideoService final
    : public v1::VideoService::WithRawCallbackMethod_UploadClip<v1::VideoService::CallbackService> {
 public:
  // The pointers are borrowed.
  VideoService(Pipeline* pipeline, const ModelTable* models, RequestLimits limits,
               DeadlineRule deadlines, StreamRule streams, TaskThread* upload_thread)
      : pipeline_(pipeline),
        models_(models),
        limits_(limits),
        deadlines_(deadlines),
        uploads_{.pipeline = pipeline,
                 .models = models,
                 .thread = upload_thread,
                 .limits = limits,
                 .rule = streams,
                 .streams = std::make_shared<std::atomic<int>>(0)} {}

  grpc::ServerUnaryReactor* AnalyzeClip(grpc::CallbackServerContext* context,
                                        const v1::AnalyzeClipRequest* request,
                                        v1::AnalyzeClipResponse* response) override;

  grpc::ServerReadReactor<grpc::ByteBuffer>* UploadClip(grpc::CallbackServerContext* context,
                                                        grpc::ByteBuffer* response) override;

  grpc::ServerUnaryReactor* EmbedText(grpc::CallbackServerContext* context,
                                      const v1::EmbedTextRequest* request,
                                      v1::EmbedTextResponse* response) override;

  // Not served yet: UNIMPLEMENTED, with a sentence.
  grpc::ServerBidiReactor<v1::StreamAnalyzeRequest, v1::StreamAnalyzeResponse>* StreamAnalyze(
      grpc::CallbackServerContext* context) override;

 private:
  // A call of one message each way, on its way through the pipeline.
  template <typename Message, typename Response>
  grpc::ServerUnaryReactor* Take(const char* method, grpc::CallbackServerContext* context,
                                 const Message* request, Response* response);

  Pipeline* const pipeline_;
  const ModelTable* const models_;
  const RequestLimits limits_;
  const DeadlineRule deadlines_;
  const UploadParts uploads_;
};

}  // namespace scanline
