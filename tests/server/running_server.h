#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "server/app.h"

// The whole server in this process, over real sockets on ports that the system chose, and calls to
// it without retries.

namespace scanline::testing {

inline Settings TestSettings() {
  Settings settings;
  settings.listen = "127.0.0.1:0";
  settings.ops_listen = "127.0.0.1:0";
  settings.workers = 1;
  settings.decode_threads = 1;
  return settings;
}

// A connection of its own, whose calls are tried once.
struct Connection {
  explicit Connection(int port) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxSendMessageSize(-1);
    channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                        grpc::InsecureChannelCredentials(), arguments);
    video = v1::VideoService::NewStub(channel);
    models_stub = v1::ModelService::NewStub(channel);
    health = grpc::health::v1::Health::NewStub(channel);
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::VideoService::Stub> video;
  std::unique_ptr<v1::ModelService::Stub> models_stub;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

inline std::unique_ptr<App> StartApp(const Settings& settings, std::vector<ModelPtr> models,
                                     Pipeline::Decode decode, bool wait_ready = true) {
  auto started = App::Start(settings, std::move(models), std::move(decode));
  EXPECT_TRUE(started.ok()) << started.status();
  if (wait_ready) {
    EXPECT_TRUE((*started)->WaitReady().ok());
  }
  return *std::move(started);
}

// A server and a connection to it.
struct Running : Connection {
  Running(const Settings& settings, std::vector<ModelPtr> models, Pipeline::Decode decode)
      : Running(StartApp(settings, std::move(models), std::move(decode))) {}
  explicit Running(std::unique_ptr<App> started)
      : Connection(started->grpc_port()), app(std::move(started)) {}

  std::unique_ptr<App> app;
};

inline v1::AnalyzeClipRequest ClassifyRequest(std::string content) {
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  request.set_content(std::move(content));
  return request;
}

struct Outcome {
  grpc::Status status;
  v1::ClipResult result;
  std::string pushback_ms;  // the grpc-retry-pushback-ms trailer
};

inline Outcome Call(Connection& server, const v1::AnalyzeClipRequest& request,
                    grpc::ClientContext& context) {
  v1::AnalyzeClipResponse response;
  Outcome outcome;
  outcome.status = server.video->AnalyzeClip(&context, request, &response);
  outcome.result = response.result();
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find("grpc-retry-pushback-ms"); found != trailers.end()) {
    outcome.pushback_ms.assign(found->second.data(), found->second.size());
  }
  return outcome;
}

inline Outcome Call(Connection& server, const v1::AnalyzeClipRequest& request) {
  grpc::ClientContext context;
  return Call(server, request, context);
}

template <typename Detail>
std::optional<Detail> Find(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& any : details.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

inline std::string ReasonIn(const grpc::Status& status) {
  const auto info = Find<google::rpc::ErrorInfo>(status);
  return info.has_value() ? info->reason() : "no ErrorInfo: " + status.error_message();
}

// What to send beside the chunks.
struct UploadPlan {
  size_t chunk_bytes = 64 << 10;
  v1::UploadClipRequest::Start start;
};

inline UploadPlan ClassifyUpload(size_t chunk_bytes = 64 << 10) {
  UploadPlan plan;
  plan.chunk_bytes = chunk_bytes;
  plan.start.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  return plan;
}

inline Outcome Upload(Connection& server, absl::string_view content, const UploadPlan& plan) {
  grpc::ClientContext context;
  v1::UploadClipResponse response;
  const auto writer = server.video->UploadClip(&context, &response);
  v1::UploadClipRequest message;
  *message.mutable_start() = plan.start;
  bool open = writer->Write(message);
  while (open && !content.empty()) {
    const absl::string_view chunk = content.substr(0, plan.chunk_bytes);
    message.set_chunk(chunk.data(), chunk.size());
    open = writer->Write(message);
    content.remove_prefix(chunk.size());
  }
  writer->WritesDone();
  Outcome outcome;
  outcome.status = writer->Finish();
  outcome.result = response.result();
  return outcome;
}

}  // namespace scanline::testing
