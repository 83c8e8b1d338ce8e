#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/address.h"
#include "client/client_error.h"
#include "scanline/v1/video_service.grpc.pb.h"

namespace scanline {

struct ClientOptions {
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration lookup_timeout = absl::Seconds(10);  // of ListModels, GetModel and IsServing
};

// The bytes of a clip that is sent in pieces.
struct UploadBytes {
  // Fills up to `size` bytes and says how many; 0: the end. An error ends the upload with it.
  std::function<absl::StatusOr<size_t>(char* out, size_t size)> read;
  // Begins again from the first byte; null: that cannot be done, and the upload is tried once.
  std::function<absl::Status()> rewind;
  uint64_t size = 0;   // 0: not known
  std::string sha256;  // 32 bytes, which the server compares; empty: not known
};

// A connection to a Scanline server. Calls block; any number of threads may make them at once.
// UNAVAILABLE and RESOURCE_EXHAUSTED are tried again, up to four times in all and within the call's
// timeout, waiting as long as the server's push-back says.
// Every error is one that ErrorOf() (client_error.h) can take apart.
class Client {
 public:
  // Connects, or says which of the reasons of client_error.h kept it from connecting.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ServerAddress& address,
                                                         const ClientOptions& options = {});

  // Labels for one clip. `content` is the bytes of the file. `spec` may be empty: the server's
  // default model; without tasks it is TASK_CLASSIFY.
  absl::StatusOr<v1::ClipResult> Classify(std::string content, v1::AnalysisSpec spec,
                                          absl::Duration timeout);

  // The same for a clip of any size, in pieces of 512 KiB that are read as they are sent.
  // `on_sent`, where given, hears how many bytes have gone so far.
  absl::StatusOr<v1::ClipResult> Upload(const UploadBytes& bytes, v1::AnalysisSpec spec,
                                        absl::Duration timeout,
                                        const std::function<void(uint64_t)>& on_sent = nullptr);

  // The vectors of `texts`, in their order, in the space of the clips' embeddings. `model` as of
  // GetModel; empty: the server's default.
  absl::StatusOr<v1::EmbedTextResponse> EmbedText(absl::string_view model,
                                                  const std::vector<std::string>& texts,
                                                  absl::Duration timeout);

  absl::StatusOr<std::vector<v1::Model>> ListModels();
  // `name` as ListModels gives it, "models/tagger24".
  absl::StatusOr<v1::GetModelResponse> GetModel(absl::string_view name);
  // What the standard health service says of the whole server.
  absl::StatusOr<bool> IsServing();

  // Ends every call under way, and any later one, with CANCELLED. For an interrupt.
  void CancelAll();
  bool cancelled();

  const ServerAddress& address() const { return address_; }

 private:
  Client(const ServerAddress& address, const ClientOptions& options);

  // One call: the function gets the context and makes it.
  absl::Status Call(absl::Duration timeout,
                    const std::function<grpc::Status(grpc::ClientContext*)>& make);
  absl::Status SendPieces(const UploadBytes& bytes, const v1::AnalysisSpec& spec,
                          const std::function<void(uint64_t)>& on_sent,
                          grpc::ClientContext* context, v1::UploadClipResponse* response,
                          grpc::Status* status);
  absl::Status WaitToRetry(absl::Duration wait);  // CANCELLED: CancelAll
  absl::Status Explain(const grpc::Status& status, absl::Duration timeout);

  const ServerAddress address_;
  const ClientOptions options_;
  // Calls about the server must reach one that is not ready, so only the other channel watches
  // its health.
  const std::shared_ptr<grpc::Channel> control_channel_;
  const std::shared_ptr<grpc::Channel> video_channel_;
  const std::unique_ptr<v1::ModelService::Stub> models_;
  const std::unique_ptr<v1::VideoService::Stub> videos_;

  Mutex mu_;
  CondVar cancel_all_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::set<grpc::ClientContext*> live_ ABSL_GUARDED_BY(mu_);
};

// OK, or CLIP_TOO_LARGE: `bytes` do not fit into one message to a server with this limit.
absl::Status CheckInlineSize(uint64_t bytes, const v1::ServerLimits& limits);
// The same of an upload. A server that tells no limit takes none.
absl::Status CheckUploadSize(uint64_t bytes, const v1::ServerLimits& limits);

}  // namespace scanline
