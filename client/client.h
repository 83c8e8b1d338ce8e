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

// A connection to a Scanline server. Calls block; any number of threads may make them at once.
// UNAVAILABLE and RESOURCE_EXHAUSTED are tried again by gRPC, up to four times in all and within
// the call's timeout, waiting as long as the server's push-back says.
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

  absl::StatusOr<std::vector<v1::Model>> ListModels();
  // `name` as ListModels gives it, "models/tagger24".
  absl::StatusOr<v1::GetModelResponse> GetModel(absl::string_view name);
  // What the standard health service says of the whole server.
  absl::StatusOr<bool> IsServing();

  // Ends every call under way, and any later one, with CANCELLED. For an interrupt.
  void CancelAll();

  const ServerAddress& address() const { return address_; }

 private:
  Client(const ServerAddress& address, const ClientOptions& options);

  // One call: the function gets the context and makes it.
  absl::Status Call(absl::Duration timeout,
                    const std::function<grpc::Status(grpc::ClientContext*)>& make);
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
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::set<grpc::ClientContext*> live_ ABSL_GUARDED_BY(mu_);
};

// OK, or CLIP_TOO_LARGE: `bytes` do not fit into one message to a server with this limit.
absl::Status CheckInlineSize(uint64_t bytes, const v1::ServerLimits& limits);

}  // namespace scanline
