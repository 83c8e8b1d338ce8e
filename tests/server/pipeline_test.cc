#include "server/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using testing::Answer;
using testing::Gate;
using ::testing::HasSubstr;
using testing::MakeClip;
using testing::MakeModel;
using testing::MakeRequest;

// The content's first byte is the value of all pixels.
absl::StatusOr<Clip> DecodeFirstByte(const Request& request) {
  return MakeClip(static_cast<uint8_t>(std::get<std::string>(request.input)[0]));
}

PipelineOptions OneThreadEach() { return {.decode_threads = 1, .workers = 1}; }

float Logit(const absl::StatusOr<Reply>& reply) { return reply->prediction.logits[0][0]; }

TEST(Pipeline, AnswersWithTheModelsLogitsAndTheFiguresOfEveryStage) {
  Metrics metrics;
  const ModelPtr model = MakeModel("m");
  Pipeline pipeline(OneThreadEach(), ModelTable({model}), DecodeFirstByte, &metrics);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  Answer answer;
  pipeline.Submit(MakeRequest(model, "\x02"), absl::Now(), answer.done());
  const auto& reply = answer.Wait();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(Logit(reply), 2 * 96);  // two pictures of 4 x 4 x 3
  EXPECT_TRUE(reply->clip.pixels.empty());
  EXPECT_EQ(reply->usage.frames_decoded, 2);
  EXPECT_EQ(reply->usage.tokens, 8);
  EXPECT_EQ(reply->usage.batch_size, 1);
  EXPECT_EQ(reply->usage.batch_tokens, 8);
  const Timing& t = reply->timing;
  ASSERT_TRUE(t.receive && t.decode_queue && t.decode && t.batch_queue && t.inference);
  EXPECT_EQ(*t.receive + *t.decode_queue + *t.decode + *t.batch_queue + *t.inference, t.total);
  EXPECT_EQ(pipeline.snapshot().inflight.requests, 0);
}

TEST(Pipeline, RefusesBeforeTheModelIsReadyAndWhenDraining) {
  Metrics metrics;
  const ModelPtr model = MakeModel("m");
  Pipeline pipeline(OneThreadEach(), ModelTable({model}), DecodeFirstByte, &metrics);
  Answer early;
  pipeline.Submit(MakeRequest(model), absl::Now(), early.done());
  EXPECT_EQ(ReasonOf(early.Wait().status()), Reason::kModelLoading);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  pipeline.Drain();
  Answer late;
  pipeline.Submit(MakeRequest(model), absl::Now(), late.done());
  EXPECT_EQ(ReasonOf(late.Wait().status()), Reason::kDraining);
}

TEST(Pipeline, AModelThatCannotStartIsAnErrorOfWaitReady) {
  Metrics metrics;
  auto model = std::make_shared<ServedModel>();
  model->make_predictor = [](int) -> absl::StatusOr<std::unique_ptr<Predictor>> {
    return MakeError(Reason::kBundleInvalid, "tensor head.weight is missing");
  };
  Pipeline pipeline(OneThreadEach(), ModelTable({model}), DecodeFirstByte, &metrics);
  EXPECT_EQ(ReasonOf(pipeline.WaitReady()), Reason::kBundleInvalid);
  EXPECT_FALSE(pipeline.ready());
}

TEST(Pipeline, PassesOnTheErrorThatParsingGave) {
  Metrics metrics;
  Pipeline pipeline(OneThreadEach(), ModelTable({MakeModel("m")}), DecodeFirstByte, &metrics);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  Answer answer;
  pipeline.Submit(MakeError(Reason::kFieldInvalid, "no"), absl::Now(), answer.done());
  EXPECT_EQ(ReasonOf(answer.Wait().status()), Reason::kFieldInvalid);
  EXPECT_THAT(metrics.Render(pipeline.snapshot()),
              HasSubstr("scanline_rejected_total{reason=\"FIELD_INVALID\"} 1"));
}

TEST(Pipeline, ADecodeErrorIsTheAnswer) {
  Metrics metrics;
  const ModelPtr model = MakeModel("m");
  Pipeline pipeline(
      OneThreadEach(), ModelTable({model}),
      [](const Request&) { return MakeError(Reason::kVideoUnreadable, "not a video"); }, &metrics);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  Answer answer;
  pipeline.Submit(MakeRequest(model), absl::Now(), answer.done());
  EXPECT_EQ(ReasonOf(answer.Wait().status()), Reason::kVideoUnreadable);
  EXPECT_THAT(metrics.Render(pipeline.snapshot()),
              HasSubstr("scanline_decode_errors_total{reason=\"VIDEO_UNREADABLE\"} 1"));
}

// One decode thread, held at a gate: the requests after the first wait in the decode queue.
class BusyDecoder : public ::testing::Test {
 protected:
  void Begin() {
    ASSERT_TRUE(pipeline_.WaitReady().ok());
    pipeline_.Submit(MakeRequest(model_), absl::Now(), first_.done());
    gate_.AwaitWaiters(1);
  }
  ~BusyDecoder() override { gate_.Open(); }

  Metrics metrics_;
  ModelPtr model_ = MakeModel("m");
  Gate gate_;
  Answer first_;
  std::atomic<int> decoded_{0};
  PipelineOptions options_ = {
      .decode_threads = 1, .workers = 1, .admission = {.max_requests = 3, .max_bytes = 1000}};
  Pipeline pipeline_{options_, ModelTable({model_}),
                     [this](const Request& request) {
                       decoded_.fetch_add(1);
                       gate_.Wait();
                       return DecodeFirstByte(request);
                     },
                     &metrics_};
};

TEST_F(BusyDecoder, AWaitingRequestExpiresByTimerWhileTheDecoderIsStuck) {
  Begin();
  Answer second;
  const absl::Time deadline = absl::Now() + absl::Milliseconds(50);
  pipeline_.Submit(MakeRequest(model_, "x", deadline), absl::Now(), second.done());
  EXPECT_EQ(ReasonOf(second.Wait().status()), Reason::kExpiredInQueue);
  EXPECT_GE(absl::Now(), deadline);
  EXPECT_FALSE(first_.came());
  gate_.Open();
  EXPECT_TRUE(first_.Wait().ok());
  EXPECT_EQ(decoded_.load(), 1);  // the expired one never began
}

TEST_F(BusyDecoder, AWaitingRequestThatIsCancelledIsAnsweredAtOnceAndGivesItsPlaceBack) {
  Begin();
  Answer second;
  Request request = MakeRequest(model_);
  const Cancel cancel = request.cancel;
  pipeline_.Submit(std::move(request), absl::Now(), second.done());
  cancel.RequestCancel();
  pipeline_.Sweep();
  EXPECT_EQ(ReasonOf(second.Wait().status()), Reason::kCancelled);
  EXPECT_EQ(pipeline_.snapshot().inflight.requests, 1);
  EXPECT_THAT(metrics_.Render(pipeline_.snapshot()),
              HasSubstr("scanline_cancelled_total{stage=\"decode_queue\"} 1"));
  gate_.Open();
  EXPECT_TRUE(first_.Wait().ok());
  EXPECT_EQ(decoded_.load(), 1);
}

TEST_F(BusyDecoder, TheRequestOverTheLimitIsRefusedAtOnceWithARetryDelay) {
  Begin();
  Answer second;
  Answer third;
  Answer fourth;
  pipeline_.Submit(MakeRequest(model_), absl::Now(), second.done());
  pipeline_.Submit(MakeRequest(model_), absl::Now(), third.done());
  pipeline_.Submit(MakeRequest(model_), absl::Now(), fourth.done());
  ASSERT_TRUE(fourth.came());  // Submit itself answered
  EXPECT_EQ(ReasonOf(fourth.Wait().status()), Reason::kQueueFull);
  gate_.Open();
  EXPECT_TRUE(first_.Wait().ok() && second.Wait().ok() && third.Wait().ok());
}

TEST_F(BusyDecoder, DrainingFinishesWhatIsInside) {
  Begin();
  Answer second;
  pipeline_.Submit(MakeRequest(model_), absl::Now(), second.done());
  pipeline_.Drain();
  Answer third;
  pipeline_.Submit(MakeRequest(model_), absl::Now(), third.done());
  EXPECT_EQ(ReasonOf(third.Wait().status()), Reason::kDraining);
  gate_.Open();
  EXPECT_TRUE(first_.Wait().ok());
  EXPECT_TRUE(second.Wait().ok());
}

TEST(Pipeline, StoppingAnswersWhatNeverBegan) {
  Metrics metrics;
  const ModelPtr model = MakeModel("m");
  Gate gate;
  Answer first;
  Answer second;
  std::thread opener;
  {
    Pipeline pipeline(
        OneThreadEach(), ModelTable({model}),
        [&gate](const Request& request) {
          gate.Wait();
          return DecodeFirstByte(request);
        },
        &metrics);
    ASSERT_TRUE(pipeline.WaitReady().ok());
    pipeline.Submit(MakeRequest(model), absl::Now(), first.done());
    gate.AwaitWaiters(1);
    pipeline.Submit(MakeRequest(model), absl::Now(), second.done());
    // The destructor answers `second` first, then waits for the decoder.
    opener = std::thread([&] {
      second.Wait();
      gate.Open();
    });
  }
  opener.join();
  EXPECT_EQ(ReasonOf(second.Wait().status()), Reason::kDraining);
  EXPECT_TRUE(first.Wait().ok() || ReasonOf(first.Wait().status()) == Reason::kDraining);
}

// One worker, held at a gate in the model: what is decoded meanwhile waits in the batch queue.
class BusyWorker : public ::testing::Test {
 protected:
  void Begin() {
    ASSERT_TRUE(pipeline_.WaitReady().ok());
    pipeline_.Submit(MakeRequest(model_), absl::Now(), first_.done());
    gate_.AwaitWaiters(1);
  }
  void AwaitQueued(int requests) {
    while (pipeline_.snapshot().batch_queue.requests < requests) std::this_thread::yield();
  }
  ~BusyWorker() override { gate_.Open(); }

  Metrics metrics_;
  Gate gate_;
  std::atomic<int> launched_{0};
  ModelPtr model_ = MakeModel("m", [this](absl::Span<const PredictItem> items) {
    launched_.fetch_add(static_cast<int>(items.size()));
    gate_.Wait();
  });
  Answer first_;
  Pipeline pipeline_{{.decode_threads = 2, .workers = 1, .batch = {.max_requests = 4}},
                     ModelTable({model_}),
                     DecodeFirstByte,
                     &metrics_};
};

TEST_F(BusyWorker, WhatWaitsRunsTogetherWhenTheWorkerIsFree) {
  Begin();
  std::vector<Answer> answers(3);
  for (Answer& answer : answers) {
    pipeline_.Submit(MakeRequest(model_), absl::Now(), answer.done());
  }
  AwaitQueued(3);
  gate_.Open();
  EXPECT_EQ(first_.Wait()->usage.batch_size, 1);
  for (Answer& answer : answers) {
    EXPECT_EQ(answer.Wait()->usage.batch_size, 3);
    EXPECT_EQ(answer.Wait()->usage.batch_tokens, 3 * 8);
  }
}

TEST_F(BusyWorker, ADecodedRequestExpiresByTimerWhileTheWorkerIsStuck) {
  Begin();
  Answer second;
  pipeline_.Submit(MakeRequest(model_, "x", absl::Now() + absl::Milliseconds(80)), absl::Now(),
                   second.done());
  EXPECT_EQ(ReasonOf(second.Wait().status()), Reason::kExpiredInQueue);
  EXPECT_FALSE(first_.came());
  gate_.Open();
  EXPECT_TRUE(first_.Wait().ok());
  EXPECT_EQ(launched_.load(), 1);  // the expired one never reached the model
}

TEST_F(BusyWorker, AResultThatCameTooLateIsAnErrorAndCountsAsWaste) {
  ASSERT_TRUE(pipeline_.WaitReady().ok());
  Answer late;
  Request request = MakeRequest(model_);
  const Cancel cancel = request.cancel;
  pipeline_.Submit(std::move(request), absl::Now(), late.done());
  gate_.AwaitWaiters(1);
  cancel.RequestCancel();
  gate_.Open();
  EXPECT_EQ(ReasonOf(late.Wait().status()), Reason::kCancelled);
  Answer next;  // runs after the first batch was recorded
  pipeline_.Submit(MakeRequest(model_), absl::Now(), next.done());
  ASSERT_TRUE(next.Wait().ok());
  const std::string text = metrics_.Render(pipeline_.snapshot());
  EXPECT_THAT(text, HasSubstr("scanline_cancelled_total{stage=\"inference\"} 1"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(
                        "scanline_wasted_inference_seconds_total{model=\"models/m@1\"} 0\n")));
}

TEST(Pipeline, EveryRequestIsAnsweredOnceUnderAbortsAndExpiry) {
  Metrics metrics;
  const ModelPtr model = MakeModel("m");
  constexpr int kRequests = 600;
  std::vector<Answer> answers(kRequests);
  int ok = 0;
  {
    Pipeline pipeline({.decode_threads = 2, .workers = 2}, ModelTable({model}), DecodeFirstByte,
                      &metrics);
    ASSERT_TRUE(pipeline.WaitReady().ok());
    const auto send = [&](int from) {
      for (int i = from; i < kRequests; i += 2) {
        const bool short_lived = i % 5 == 0;
        Request request = MakeRequest(
            model, std::string(1, static_cast<char>(i % 100)),
            short_lived ? absl::Now() + absl::Microseconds(50) : absl::InfiniteFuture());
        const Cancel cancel = request.cancel;
        pipeline.Submit(std::move(request), absl::Now(), answers[i].done());
        if (i % 3 == 0) {
          cancel.RequestCancel();
          pipeline.Sweep();
        }
      }
    };
    std::thread other(send, 1);
    send(0);
    other.join();
    for (int i = 0; i < kRequests; ++i) {
      const auto& reply = answers[i].Wait();
      if (!reply.ok()) continue;
      ++ok;
      EXPECT_EQ(Logit(reply), 96.0f * (i % 100)) << i;  // its own answer, not a neighbour's
    }
    EXPECT_EQ(pipeline.snapshot().inflight.requests, 0);
    EXPECT_EQ(pipeline.snapshot().inflight.bytes, 0);
  }
  EXPECT_GT(ok, 0);
}

}  // namespace
}  // namespace scanline
