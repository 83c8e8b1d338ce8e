#include "server/app.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/doubles.h"
#include "tests/server/running_server.h"

// The whole server in this process, over real sockets on ports that the system chose.

namespace scanline {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::Call;
using testing::ClassifyRequest;
using testing::Find;
using testing::Gate;
using ::testing::HasSubstr;
using testing::MakeClip;
using testing::MakeModel;
using testing::Outcome;
using testing::ReasonIn;
using testing::Running;
using testing::TestSettings;

void AwaitInflight(App& app, int64_t requests) {
  while (app.pipeline().snapshot().inflight.requests != requests) std::this_thread::yield();
}

// --- with the real decoder and the default model ---

std::string ModelDir() { return SCANLINE_SOURCE_DIR "/assets/models/tagger24"; }

std::string ReadClip(const std::string& name) {
  const char* const elsewhere = std::getenv("SCANLINE_MODEL_CLIPS_DIR");
  const std::string folder = elsewhere != nullptr ? elsewhere : ModelDir() + "/clips";
  std::ifstream file(folder + "/" + name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(bytes.empty()) << folder << "/" << name;
  return bytes;
}

class RealServer : public ::testing::Test {
 protected:
  static Running Make() {
    const Settings settings = TestSettings();
    auto model = LoadModel(ModelDir(), settings);
    EXPECT_TRUE(model.ok()) << model.status();
    return Running(settings, {*std::move(model)}, [settings](const Request& request) {
      return DecodeRequest(request, DecodeLimitsOf(settings));
    });
  }
  Running server_ = Make();
};

TEST_F(RealServer, ClassifiesAClipAndSaysWhatItLookedAt) {
  const Outcome outcome = Call(server_, ClassifyRequest(ReadClip("m00_pan_left.mp4")));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  const v1::ClipResult& result = outcome.result;
  EXPECT_EQ(result.model(), "models/tagger24@1.0.0");
  ASSERT_EQ(result.classes_size(), 5);
  EXPECT_EQ(result.classes(0).label(), "pan_left");
  EXPECT_GT(result.classes(0).score(), 0.5);
  EXPECT_EQ(result.sampling().codec(), "h264");
  EXPECT_EQ(result.sampling().frame_indices_size(), 16);
  EXPECT_EQ(result.sampling().frame_offsets_size(), 16);
  EXPECT_EQ(result.usage().tokens(), 256);
  EXPECT_GE(result.usage().frames_decoded(), 16);
  EXPECT_EQ(result.usage().batch_size(), 1);
  EXPECT_GT(result.timing().decode().nanos(), 0);
  EXPECT_GT(result.timing().inference().nanos(), 0);
}

TEST_F(RealServer, WindowsOfAClipAreAnsweredOneByOneAndTheirMeanIsTheClips) {
  v1::AnalyzeClipRequest request = ClassifyRequest(ReadClip("m00_pan_left.mp4"));  // 1.5 s
  request.mutable_spec()->mutable_sampling()->mutable_window_stride()->set_nanos(250'000'000);
  request.mutable_spec()->mutable_classify()->set_top_k(24);
  const Outcome outcome = Call(server_, request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_EQ(outcome.result.windows_size(), 3);  // of 1 s, at 0, 0.25 and 0.5 s
  const v1::ClassScore& best = outcome.result.classes(0);
  double mean = 0;
  for (const v1::WindowResult& window : outcome.result.windows()) {
    for (const v1::ClassScore& score : window.classes()) {
      if (score.class_index() == best.class_index()) mean += score.score() / 3;
    }
  }
  EXPECT_NEAR(best.score(), mean, 1e-6);
  EXPECT_EQ(outcome.result.windows(2).start_offset().nanos(), 500'000'000);
  EXPECT_EQ(outcome.result.sampling().frame_indices_size(), 3 * 16);
}

TEST_F(RealServer, TakesFramesThatTheCallerDecoded) {
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  v1::RawFrames& frames = *request.mutable_frames();
  frames.set_count(16);
  frames.set_width(64);
  frames.set_height(64);
  // From black to white: the model calls it a fade in, and backwards a fade out.
  const auto fill = [&frames](bool forward) {
    frames.clear_rgb();
    for (int i = 0; i < 16; ++i) {
      const int step = forward ? i : 15 - i;
      for (int pixel = 0; pixel < 64 * 64 * 3; ++pixel) {
        frames.mutable_rgb()->push_back(static_cast<char>((pixel * 37 % 200) * step / 15));
      }
    }
  };
  fill(true);
  const Outcome in = Call(server_, request);
  ASSERT_TRUE(in.status.ok()) << in.status.error_message();
  EXPECT_EQ(in.result.classes(0).label(), "fade_in");
  fill(false);
  const Outcome out = Call(server_, request);
  ASSERT_TRUE(out.status.ok()) << out.status.error_message();
  EXPECT_EQ(out.result.classes(0).label(), "fade_out");
  EXPECT_EQ(out.result.usage().frames_decoded(), 0);
}

TEST_F(RealServer, WrongInputIsNamedByReasonAndDetails) {
  const Outcome text = Call(server_, ClassifyRequest("this is no video at all, just some words"));
  EXPECT_EQ(text.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(text.status), "VIDEO_UNREADABLE");
  EXPECT_EQ(Find<google::rpc::BadRequest>(text.status)->field_violations(0).field(), "content");

  v1::AnalyzeClipRequest beyond = ClassifyRequest(ReadClip("m00_cut.mp4"));
  beyond.mutable_spec()->mutable_sampling()->mutable_start_offset()->set_seconds(3600);
  const Outcome range = Call(server_, beyond);
  EXPECT_EQ(range.status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonIn(range.status), "SEGMENT_OUT_OF_RANGE");

  v1::AnalyzeClipRequest model = ClassifyRequest("x");
  model.mutable_spec()->set_model("models/other");
  const Outcome unknown = Call(server_, model);
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Find<google::rpc::ResourceInfo>(unknown.status)->resource_name(), "models/other");

  v1::AnalyzeClipRequest task = ClassifyRequest("x");
  task.mutable_spec()->set_tasks(0, v1::TASK_DETECT_ACTIONS);
  const Outcome unsupported = Call(server_, task);
  EXPECT_EQ(unsupported.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonIn(unsupported.status), "TASK_UNSUPPORTED");
  EXPECT_TRUE(Find<google::rpc::PreconditionFailure>(unsupported.status).has_value());
}

TEST_F(RealServer, AClipBetweenTheTwoLimitsGetsATypedAnswerAndBeyondThemTheTransportRefuses) {
  const Outcome over = Call(server_, ClassifyRequest(std::string((16 << 20) + 1, 'x')));
  EXPECT_EQ(over.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(over.status), "CLIP_TOO_LARGE");
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(over.status)->metadata().at("limit"), "16777216");
  const Outcome far_over = Call(server_, ClassifyRequest(std::string(25 << 20, 'x')));
  EXPECT_EQ(far_over.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RealServer, ListsItsModelsAndLimits) {
  grpc::ClientContext list_context;
  v1::ListModelsResponse list;
  ASSERT_TRUE(server_.models_stub->ListModels(&list_context, {}, &list).ok());
  ASSERT_EQ(list.models_size(), 1);
  EXPECT_EQ(list.models(0).labels_size(), 24);
  EXPECT_EQ(list.models(0).state(), v1::Model::STATE_READY);
  EXPECT_EQ(list.models(0).weights_sha256().size(), 64);

  grpc::ClientContext get_context;
  v1::GetModelRequest get;
  get.set_name("models/tagger24");
  v1::GetModelResponse got;
  ASSERT_TRUE(server_.models_stub->GetModel(&get_context, get, &got).ok());
  EXPECT_EQ(got.model().frame_count(), 16);
  EXPECT_EQ(got.limits().max_inline_bytes(), 16u << 20);
  EXPECT_EQ(got.limits().max_pixels_per_frame(), 33'554'432u);
  EXPECT_EQ(got.limits().max_clip_duration().seconds(), 3 * 3600);
  EXPECT_EQ(got.limits().max_deadline().seconds(), 600);

  grpc::ClientContext bad_context;
  get.set_name("models/none");
  const grpc::Status missing = server_.models_stub->GetModel(&bad_context, get, &got);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonIn(missing), "MODEL_NOT_FOUND");
}

TEST(ListPage, GivesPagesThatJoinWithoutGapsAndRefusesWhatItDidNotGive) {
  const ModelTable models({MakeModel("a"), MakeModel("b"), MakeModel("c")});
  std::vector<std::string> names;
  std::string token;
  do {
    v1::ListModelsResponse page;
    ASSERT_TRUE(ListPage(models, v1::Model::STATE_READY, 2, token, &page).ok());
    for (const v1::Model& model : page.models()) names.push_back(model.name());
    token = page.next_page_token();
  } while (!token.empty());
  EXPECT_THAT(names, ::testing::ElementsAre("models/a", "models/b", "models/c"));
  v1::ListModelsResponse page;
  EXPECT_EQ(ReasonOf(ListPage(models, v1::Model::STATE_READY, -1, "", &page)),
            Reason::kFieldInvalid);
  for (const char* wrong : {"x", "-1", "4"}) {
    EXPECT_EQ(ReasonOf(ListPage(models, v1::Model::STATE_READY, 2, wrong, &page)),
              Reason::kFieldInvalid);
  }
}

// --- with a decoder that waits at a gate, so that load and ends can be arranged ---

class HeldServer : public ::testing::Test {
 protected:
  void Start(const Settings& settings) {
    server_ =
        std::make_unique<Running>(settings, std::vector<ModelPtr>{MakeModel("m")},
                                  [this](const Request& request) -> absl::StatusOr<Clip> {
                                    if (std::get<std::string>(request.input) == "hold")
                                      gate_.Wait();
                                    if (std::get<std::string>(request.input) == "until-cancelled") {
                                      absl::Status gone;
                                      while (gone.ok()) {
                                        gone = request.cancel.Check(Reason::kExpiredInDecode);
                                        std::this_thread::yield();
                                      }
                                      return gone;
                                    }
                                    return MakeClip(1);
                                  });
  }
  ~HeldServer() override { gate_.Open(); }

  // A call that stands in the decoder until the gate opens.
  std::future<Outcome> Hold() {
    auto held =
        std::async(std::launch::async, [this] { return Call(*server_, ClassifyRequest("hold")); });
    gate_.AwaitWaiters(1);
    return held;
  }

  HealthCheckResponse::ServingStatus Health(const std::string& service) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const grpc::Status status = server_->health->Check(&context, request, &response);
    if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }

  Gate gate_;
  std::unique_ptr<Running> server_;
};

TEST_F(HeldServer, TheServersOwnDeadlineEndsAWaitingCallWithItsReason) {
  Settings settings = TestSettings();
  settings.default_deadline = 0.3;
  Start(settings);
  auto held = Hold();
  const Outcome waiting = Call(*server_, ClassifyRequest("x"));  // gives no deadline of its own
  EXPECT_EQ(waiting.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReasonIn(waiting.status), "EXPIRED_IN_QUEUE");
  gate_.Open();
  EXPECT_EQ(ReasonIn(held.get().status), "EXPIRED_IN_QUEUE");  // decoded, but too late to launch
}

TEST_F(HeldServer, ALongDeadlineIsCutToTheServersMost) {
  Settings settings = TestSettings();
  settings.max_deadline = 0.3;
  Start(settings);
  auto held = Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(ReasonIn(Call(*server_, ClassifyRequest("x"), context).status), "EXPIRED_IN_QUEUE");
  gate_.Open();
  held.get();
}

TEST_F(HeldServer, TheClientsDeadlineFreesThePlaceWithoutADecoder) {
  Start(TestSettings());
  auto held = Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  const Outcome waiting = Call(*server_, ClassifyRequest("x"), context);
  EXPECT_EQ(waiting.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitInflight(*server_->app, 1);  // only the held one, though the decoder never came free
  gate_.Open();
  EXPECT_TRUE(held.get().status.ok());
}

TEST_F(HeldServer, ACancelledCallStopsInTheDecoder) {
  Start(TestSettings());
  grpc::ClientContext context;
  auto call = std::async(std::launch::async, [&] {
    return Call(*server_, ClassifyRequest("until-cancelled"), context);
  });
  while (server_->app->pipeline().snapshot().decoders_busy == 0) std::this_thread::yield();
  context.TryCancel();
  EXPECT_EQ(call.get().status.error_code(), grpc::StatusCode::CANCELLED);
  AwaitInflight(*server_->app, 0);
  EXPECT_TRUE(Call(*server_, ClassifyRequest("x")).status.ok());  // the decoder is free again
}

TEST_F(HeldServer, ACancelledCallLeavesTheQueueAtOnce) {
  Start(TestSettings());
  auto held = Hold();
  grpc::ClientContext context;
  auto call =
      std::async(std::launch::async, [&] { return Call(*server_, ClassifyRequest("x"), context); });
  AwaitInflight(*server_->app, 2);
  context.TryCancel();
  EXPECT_EQ(call.get().status.error_code(), grpc::StatusCode::CANCELLED);
  AwaitInflight(*server_->app, 1);
  gate_.Open();
  EXPECT_TRUE(held.get().status.ok());
}

TEST_F(HeldServer, AFullServerRefusesWithTheTimeToTryAgain) {
  Settings settings = TestSettings();
  settings.max_requests = 1;
  Start(settings);
  auto held = Hold();
  const Outcome refused = Call(*server_, ClassifyRequest("x"));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(refused.status), "QUEUE_FULL");
  const auto retry = Find<google::rpc::RetryInfo>(refused.status);
  ASSERT_TRUE(retry.has_value());
  const int64_t delay_ms =
      retry->retry_delay().seconds() * 1000 + retry->retry_delay().nanos() / 1'000'000;
  EXPECT_GT(delay_ms, 0);
  EXPECT_EQ(refused.pushback_ms, absl::StrCat(delay_ms));
  gate_.Open();
  EXPECT_TRUE(held.get().status.ok());
  EXPECT_TRUE(Call(*server_, ClassifyRequest("x")).status.ok());
}

TEST_F(HeldServer, HealthKnowsReadyStartedAndAlive) {
  Start(TestSettings());
  for (const char* name : {"", "scanline.v1.VideoService", "liveness", "startup"}) {
    EXPECT_EQ(Health(name), HealthCheckResponse::SERVING) << name;
  }
  EXPECT_EQ(Health("nobody"), HealthCheckResponse::SERVICE_UNKNOWN);
  server_->app->SayNotServing();
  EXPECT_EQ(Health(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Health("scanline.v1.VideoService"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Health("liveness"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Health("startup"), HealthCheckResponse::SERVING);
  // The lame duck still answers.
  EXPECT_TRUE(Call(*server_, ClassifyRequest("x")).status.ok());
}

TEST_F(HeldServer, StoppingFinishesWhatIsInsideAndEndsWatches) {
  Start(TestSettings());
  grpc::ClientContext watch_context;
  HealthCheckRequest all;
  auto watch = server_->health->Watch(&watch_context, all);
  HealthCheckResponse status;
  ASSERT_TRUE(watch->Read(&status));
  EXPECT_EQ(status.status(), HealthCheckResponse::SERVING);
  auto held = Hold();
  server_->app->SayNotServing();
  ASSERT_TRUE(watch->Read(&status));
  EXPECT_EQ(status.status(), HealthCheckResponse::NOT_SERVING);
  server_->app->StopAccepting();
  EXPECT_FALSE(watch->Read(&status));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(server_->app->Finished());  // one is inside
  gate_.Open();
  EXPECT_TRUE(held.get().status.ok());
  while (!server_->app->Finished()) std::this_thread::yield();
}

TEST_F(HeldServer, ADrainingServerSendsNewWorkElsewhere) {
  Start(TestSettings());
  server_->app->pipeline().Drain();
  const Outcome refused = Call(*server_, ClassifyRequest("x"));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonIn(refused.status), "DRAINING");
  EXPECT_EQ(refused.pushback_ms, "0");
}

TEST_F(HeldServer, WhatIsNotServedYetSaysSo) {
  Start(TestSettings());
  grpc::ClientContext stream_context;
  auto stream = server_->video->StreamAnalyze(&stream_context);
  v1::StreamAnalyzeResponse window;
  EXPECT_FALSE(stream->Read(&window));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(HeldServer, CompressedMessagesAreNotInflated) {
  Start(TestSettings());
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const Outcome outcome = Call(*server_, ClassifyRequest(std::string(100'000, 'x')), context);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(HeldServer, ATakenPortIsAnError) {
  Start(TestSettings());
  Settings settings = TestSettings();
  settings.listen = absl::StrCat("127.0.0.1:", server_->app->grpc_port());
  const auto second =
      App::Start(settings, {MakeModel("m")}, [](const Request&) { return MakeClip(1); });
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(settings.listen));
}

}  // namespace
}  // namespace scanline
