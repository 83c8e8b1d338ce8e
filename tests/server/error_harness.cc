#include "tests/server/error_harness.h"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <memory>
#include <utility>

#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/doubles.h"
#include "tests/server/faults.h"
#include "tests/support/files.h"

namespace scanline::testing {

std::string CorpusClip(const std::string& name) {
  const auto bytes = ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/" + name);
  return {bytes.begin(), bytes.end()};
}

std::string GoodClip() { return CorpusClip("mp4_tiny32.mp4"); }

Running Serve(const Settings& settings, ModelPtr model) {
  if (model == nullptr) model = MakeModel("m");
  return Running(settings, {std::move(model)}, [settings](const Request& request) {
    return DecodeRequest(request, DecodeLimitsOf(settings));
  });
}

grpc::Status Send(const std::string& clip, const Settings& settings) {
  Running server = Serve(settings);
  return Call(server, ClassifyRequest(clip)).status;
}

grpc::Status WithSpec(const std::function<void(v1::AnalysisSpec&)>& change, ModelPtr model) {
  Running server = Serve(TestSettings(), model != nullptr ? std::move(model) : MakeTextModel("m"));
  v1::AnalyzeClipRequest request = ClassifyRequest(GoodClip());
  change(*request.mutable_spec());
  return Call(server, request).status;
}

grpc::Status EmbedTexts(const std::vector<std::string>& texts, const Settings& settings,
                        ModelPtr model, const std::string& request_id) {
  Running server = Serve(settings, model != nullptr ? std::move(model) : MakeTextModel("m"));
  v1::EmbedTextRequest request;
  for (const std::string& text : texts) request.add_texts(text);
  request.set_request_id(request_id);
  grpc::ClientContext context;
  v1::EmbedTextResponse response;
  return server.video->EmbedText(&context, request, &response);
}

grpc::Status MatchTexts(const std::vector<std::string>& texts, const MatchPlan& plan) {
  const auto model = NewTextModel("m");
  model->config.text_tower->fusion_depth = plan.fusion_depth;
  return WithSpec(
      [&](v1::AnalysisSpec& spec) {
        spec.add_tasks(v1::TASK_MATCH_TEXT);
        for (const std::string& text : texts) spec.mutable_match_text()->add_texts(text);
        spec.mutable_match_text()->set_rerank(plan.rerank);
        spec.mutable_match_text()->set_use_prompts(plan.use_prompts);
      },
      model);
}

grpc::Status Messages(Connection& server, const std::vector<v1::UploadClipRequest>& messages) {
  grpc::ClientContext context;
  v1::UploadClipResponse response;
  const auto writer = server.video->UploadClip(&context, &response);
  for (const auto& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status RawMessages(Connection& server, const std::vector<std::string>& messages) {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  const grpc::internal::RpcMethod method("/scanline.v1.VideoService/UploadClip",
                                         grpc::internal::RpcMethod::CLIENT_STREAMING,
                                         server.channel);
  const std::unique_ptr<grpc::ClientWriter<grpc::ByteBuffer>> writer(
      grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(server.channel.get(), method,
                                                                    &context, &response));
  for (const std::string& message : messages) {
    const grpc::Slice slice(message);
    if (!writer->Write(grpc::ByteBuffer(&slice, 1))) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

v1::UploadClipRequest StartMessage() {
  v1::UploadClipRequest message;
  *message.mutable_start() = ClassifyUpload().start;
  return message;
}

v1::UploadClipRequest ChunkMessage(const std::string& bytes) {
  v1::UploadClipRequest message;
  message.set_chunk(bytes);
  return message;
}

grpc::Status WithStart(const std::function<void(v1::UploadClipRequest::Start&)>& change,
                       const std::string& clip) {
  Running server = Serve();
  UploadPlan plan = ClassifyUpload();
  change(plan.start);
  return Upload(server, clip, plan).status;
}

grpc::Status Faulty(Reason reason, const std::string& message) {
  Running server = Serve(TestSettings(), WithFault(*MakeModel("m"), MakeError(reason, message)));
  return Call(server, ClassifyRequest(GoodClip())).status;
}

grpc::Status WhileOneIsHeld(const Settings& settings,
                            const std::function<grpc::Status(Running&)>& second) {
  Gate gate;
  Running server(settings, {MakeModel("m")}, [&](const Request& request) -> absl::StatusOr<Clip> {
    const auto* content = std::get_if<std::string>(&request.input);
    if (content != nullptr && *content == "hold") gate.Wait();
    return MakeClip(1);
  });
  auto held =
      std::async(std::launch::async, [&] { return Call(server, ClassifyRequest("hold")).status; });
  gate.AwaitWaiters(1);
  grpc::Status status = second(server);
  gate.Open();
  held.wait();
  return status;
}

FileSizeLimit::FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &before_);
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
}

FileSizeLimit::~FileSizeLimit() {
  setrlimit(RLIMIT_FSIZE, &before_);
  std::signal(SIGXFSZ, handler_);
}

std::vector<std::string> DetailsOf(const grpc::Status& status) {
  google::rpc::Status all;
  EXPECT_TRUE(all.ParseFromString(status.error_details()));
  EXPECT_EQ(all.code(), status.error_code());
  EXPECT_EQ(all.message(), status.error_message());
  std::vector<std::string> names;
  for (const auto& any : all.details()) {
    // "BadRequest" of "type.googleapis.com/google.rpc.BadRequest"
    names.push_back(any.type_url().substr(any.type_url().rfind('.') + 1));
  }
  return names;
}

}  // namespace scanline::testing
