#include "server/upload_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "server/grpc_status.h"
#include "server/to_proto.h"

namespace scanline {
namespace {

absl::Status ProtocolError(absl::string_view found) {
  return MakeError(Reason::kStreamProtocol,
                   absl::StrCat("expected `start` in the first message and `chunk` in each one "
                                "after it, found ",
                                found),
                   {{"found", std::string(found)}});
}

absl::Status Unreadable(size_t bytes) {
  const std::string found = absl::StrCat(bytes, " bytes that are none");
  return MakeError(Reason::kStreamProtocol,
                   absl::StrCat("expected an UploadClipRequest message, found ", found),
                   {{"found", found}});
}

template <typename Message>
bool Parse(grpc::ByteBuffer* bytes, Message* message) {
  return grpc::SerializationTraits<Message>::Deserialize(bytes, message).ok();
}

template <typename Message>
grpc::Status Serialize(const Message& message, grpc::ByteBuffer* bytes) {
  bool own_buffer = false;
  return grpc::SerializationTraits<Message>::Serialize(message, bytes, &own_buffer);
}

absl::string_view PayloadName(const v1::UploadClipRequest& message) {
  switch (message.payload_case()) {
    case v1::UploadClipRequest::kStart:
      return "start";
    case v1::UploadClipRequest::kChunk:
      return "chunk";
    case v1::UploadClipRequest::PAYLOAD_NOT_SET:
      break;
  }
  return "neither";
}

}  // namespace

UploadCall* UploadCall::Start(const UploadParts& parts, const Cancel& cancel,
                              grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  const std::shared_ptr<UploadCall> call(new UploadCall(parts, cancel, context, response));
  call->self_ = call;
  const int streams = parts.streams->fetch_add(1) + 1;
  if (streams > parts.rule.max_streams) {
    call->Submit(
        MakeError(Reason::kQueueFull,
                  absl::StrCat("this server takes up to ", parts.rule.max_streams,
                               " uploads and streams at a time and has them; try again in 1000 ms"),
                  {{"streams", absl::StrCat(streams - 1)},
                   {"max_streams", absl::StrCat(parts.rule.max_streams)},
                   {"retry_delay_ms", "1000"}}));
    return call.get();
  }
  call->ReadNext();
  call->WatchIdle(call->received_ + parts.rule.idle);
  return call.get();
}

UploadCall::UploadCall(const UploadParts& parts, const Cancel& cancel,
                       grpc::CallbackServerContext* context, grpc::ByteBuffer* response)
    : parts_(parts),
      cancel_(cancel),
      context_(context),
      response_(response),
      received_(absl::Now()) {}

UploadCall::~UploadCall() { parts_.streams->fetch_sub(1); }

UploadPtr UploadCall::upload() {
  MutexLock lock(mu_);
  return upload_;
}

void UploadCall::ReadNext() {
  absl::Time since;
  {
    MutexLock lock(mu_);
    since = std::exchange(reading_since_, absl::InfiniteFuture());
  }
  if (const UploadPtr to_fill = upload(); to_fill != nullptr) {
    const auto again = [weak = weak_from_this(), thread = parts_.thread] {
      thread->Post([weak] {
        if (const auto self = weak.lock()) self->ReadNext();
      });
    };
    if (!to_fill->MayReceive(again)) return;
  }
  MutexLock lock(mu_);
  if (answered_) return;
  reading_since_ = std::min(since, absl::Now());
  StartRead(&bytes_);
}

void UploadCall::OnReadDone(bool ok) {
  const size_t length = bytes_.Length();
  const bool readable = ok && Parse(&bytes_, &message_);
  const bool empty = readable && message_.has_chunk() && message_.chunk().empty();
  bool submitted = false;
  {
    MutexLock lock(mu_);
    if (!empty) reading_since_ = absl::InfiniteFuture();
    submitted = submitted_;
  }
  if (ok && !readable) return TakeUnreadable(length);
  if (ok && submitted) {
    return parts_.thread->Post([self = shared_from_this()] { self->Store(); });
  }
  if (ok) return Take(message_);
  if (context_->IsCancelled()) return;  // OnCancel ends it
  if (!submitted) return Stop(ProtocolError("the end of the stream"));
  parts_.thread->Post([self = shared_from_this()] { self->FinishUpload(); });
}

void UploadCall::TakeUnreadable(size_t bytes) {
  parts_.thread->Post([self = shared_from_this(), bytes] { self->Stop(Unreadable(bytes)); });
}

void UploadCall::Take(const v1::UploadClipRequest& message) {
  if (!message.has_start()) {
    return Stop(ProtocolError(absl::StrCat(PayloadName(message), " in the first")));
  }
  Begin(message.start());
}

void UploadCall::Begin(const v1::UploadClipRequest::Start& start) {
  absl::StatusOr<Request> request = FromProto(start, *parts_.models, parts_.limits, cancel_);
  if (request.ok()) {
    UploadPtr upload = parts_.pipeline->NewUpload(ClaimOf(start), cancel_);
    request->input = upload;
    MutexLock lock(mu_);
    upload_ = std::move(upload);
  }
  if (Submit(std::move(request))) ReadNext();
}

void UploadCall::Store() {
  const UploadPtr to_fill = upload();
  if (to_fill == nullptr) return;  // answered already
  if (!message_.has_chunk()) {
    return Stop(ProtocolError(absl::StrCat(
        message_.has_start() ? "a second start" : PayloadName(message_), " after the first")));
  }
  if (const absl::Status status = to_fill->Append(message_.chunk()); !status.ok()) {
    return Stop(status);
  }
  ReadNext();
}

void UploadCall::FinishUpload() {
  const UploadPtr filled = upload();
  if (filled == nullptr) return;
  filled->End().IgnoreError();  // UploadOver looks at it
  parts_.pipeline->UploadOver(filled.get());
}

void UploadCall::WatchIdle(absl::Time when) {
  parts_.thread->PostAt(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckIdle();
  });
}

void UploadCall::CheckIdle() {
  const absl::Time now = absl::Now();
  absl::Time since;
  {
    MutexLock lock(mu_);
    if (answered_) return;
    since = std::min(reading_since_, now);
  }
  if (now - since < parts_.rule.idle) return WatchIdle(since + parts_.rule.idle);
  const double limit = absl::ToDoubleSeconds(parts_.rule.idle);
  Stop(MakeError(Reason::kStreamIdle,
                 absl::StrCat("expected a message within ", limit, " s, found none"),
                 {{"limit_seconds", absl::StrCat(limit)}}));
}

void UploadCall::OnCancel() {
  cancel_.RequestCancel();
  if (const UploadPtr waiting = upload(); waiting != nullptr) {
    waiting->Wake();
    parts_.pipeline->Sweep();
  } else {
    Submit(cancel_.Check(Reason::kExpiredInQueue));
  }
}

void UploadCall::Stop(const absl::Status& why) {
  if (const UploadPtr failed = upload(); failed != nullptr) {
    failed->Fail(why);
    parts_.pipeline->UploadOver(failed.get());
  } else {
    Submit(why);
  }
}

bool UploadCall::Submit(absl::StatusOr<Request> request) {
  {
    MutexLock lock(mu_);
    if (std::exchange(submitted_, true)) return false;
  }
  parts_.pipeline->Submit(
      std::move(request), received_,
      [self = shared_from_this()](absl::StatusOr<Reply> reply) { self->Answer(std::move(reply)); },
      "UploadClip");
  return true;
}

void UploadCall::Answer(absl::StatusOr<Reply> reply) {
  UploadPtr done;
  {
    MutexLock lock(mu_);
    answered_ = true;
    done = std::move(upload_);
  }
  if (done != nullptr) done->Discard();  // a piece may be on its way into it
  grpc::Status end = EndOfCall(reply.status(), "UploadClip", context_);
  if (reply.ok()) {
    v1::UploadClipResponse response;
    ToProto(*reply, response.mutable_result());
    end = Serialize(response, response_);
  }
  Finish(end);
}

void UploadCall::OnDone() { std::exchange(self_, nullptr).reset(); }

}  // namespace scanline
