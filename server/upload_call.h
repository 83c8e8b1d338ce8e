#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/cancel.h"
#include "base/mutex.h"
#include "scanline/v1/video_service.pb.h"
#include "server/from_proto.h"
#include "server/pipeline.h"
#include "server/task_thread.h"

namespace scanline {

struct StreamRule {
  int max_streams = 100;
  absl::Duration idle = absl::Seconds(30);  // that a client may send nothing while it is asked to
};

// What every call needs and none owns.
struct UploadParts {
  Pipeline* pipeline = nullptr;
  const ModelTable* models = nullptr;
  TaskThread* thread = nullptr;  // hashes and stores pieces, watches for idleness
  RequestLimits limits;
  StreamRule rule;
  std::shared_ptr<std::atomic<int>> streams;  // open now
};

// One UploadClip call. The first message submits the request; each piece is stored on the task
// thread, and only then the next one is asked for, so that a client is never read faster than its
// bytes are kept. Whatever ends the upload ends through the pipeline's answer, which is given once.
// Messages come as bytes: gRPC reports one that it cannot parse just as it does the end of the
// upload, and half a clip would be answered as if it were whole.
class UploadCall final : public grpc::ServerReadReactor<grpc::ByteBuffer>,
                         public std::enable_shared_from_this<UploadCall> {
 public:
  // The reactor that gRPC shall have; it keeps itself until OnDone.
  static UploadCall* Start(const UploadParts& parts, const Cancel& cancel,
                           grpc::CallbackServerContext* context, grpc::ByteBuffer* response);
  ~UploadCall() override;

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  UploadCall(const UploadParts& parts, const Cancel& cancel, grpc::CallbackServerContext* context,
             grpc::ByteBuffer* response);
  void ReadNext();
  void TakeUnreadable(size_t bytes);
  void Take(const v1::UploadClipRequest& message);
  void Begin(const v1::UploadClipRequest::Start& start);
  void Store();
  void FinishUpload();
  void WatchIdle(absl::Time when);
  void CheckIdle();
  // Ends the call with an error, through the pipeline.
  void Stop(const absl::Status& why);
  bool Submit(absl::StatusOr<Request> request);  // false: it was done before
  void Answer(absl::StatusOr<Reply> reply);
  UploadPtr upload();

  const UploadParts parts_;
  const Cancel cancel_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  const absl::Time received_;
  grpc::ByteBuffer bytes_;            // gRPC's while a read is under way, else empty
  v1::UploadClipRequest message_;     // the last one read: the task's until it asks for the next
  std::shared_ptr<UploadCall> self_;  // until OnDone

  Mutex mu_;
  UploadPtr upload_ ABSL_GUARDED_BY(mu_);
  bool submitted_ ABSL_GUARDED_BY(mu_) = false;
  bool answered_ ABSL_GUARDED_BY(mu_) = false;
  // Since when no byte came although the client was asked; an empty chunk has none.
  absl::Time reading_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
};

}  // namespace scanline
