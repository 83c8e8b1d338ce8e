// Texts on the one path: EmbedText, texts beside a clip, and how clips and texts share the workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/error.h"
#include "server/pipeline.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using testing::Answer;
using ::testing::Contains;
using testing::Gate;
using ::testing::HasSubstr;
using testing::MakeClip;
using testing::MakeRequest;
using testing::MakeTextModel;
using testing::MakeTextRequest;
using ::testing::Not;
using ::testing::Pair;
using Batch = absl::Span<const PredictItem>;

bool IsOfTexts(Batch batch) { return batch[0].clip == nullptr; }

absl::StatusOr<Clip> DecodeFirstByte(const Request& request) {
  return MakeClip(static_cast<uint8_t>(std::get<std::string>(request.input)[0]));
}

// One worker; `before_` is what it does at each batch.
class PipelineTexts : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(pipeline_.WaitReady().ok()); }

  absl::StatusOr<Reply> Run(Request request) {
    Answer answer;
    pipeline_.Submit(std::move(request), absl::Now(), answer.done(), "EmbedText");
    return std::move(answer.Wait());
  }
  std::string Figures() { return metrics_.Render(pipeline_.snapshot()); }

  Metrics metrics_;
  std::function<void(Batch)> before_ = [](Batch) {};
  ModelPtr model_ = MakeTextModel("m", [this](Batch batch) { before_(batch); });
  Pipeline pipeline_{
      {.decode_threads = 2, .workers = 1}, ModelTable({model_}), DecodeFirstByte, &metrics_};
};

TEST_F(PipelineTexts, TextsAreAnsweredWithoutDecodingAndCounted) {
  const auto reply = Run(MakeTextRequest(model_, {"black", "a red ball"}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->prediction.texts.size(), 2U);
  EXPECT_EQ(reply->prediction.texts[0].values, (std::vector<float>{1, 0}));
  EXPECT_EQ(reply->prediction.texts[1].values, (std::vector<float>{0, 1}));
  const Timing& t = reply->timing;
  EXPECT_FALSE(t.decode_queue || t.decode);
  ASSERT_TRUE(t.receive && t.batch_queue && t.inference);
  EXPECT_EQ(*t.receive + *t.batch_queue + *t.inference, t.total);
  EXPECT_EQ(reply->usage.tokens, 0);
  EXPECT_EQ(reply->usage.texts, 2);
  EXPECT_EQ(reply->usage.text_tokens, 4);
  EXPECT_GE(reply->usage.batch_tokens, 1);
  EXPECT_EQ(pipeline_.snapshot().inflight.requests, 0);
  EXPECT_EQ(pipeline_.snapshot().inflight.bytes, 0);
  const std::string figures = Figures();
  for (const char* line :
       {"scanline_requests_total{model=\"models/m@1\",outcome=\"ok\",task=\"embed_text\"} 1",
        "scanline_texts_total{method=\"EmbedText\",model=\"models/m@1\"} 2",
        "scanline_text_tokens_total{method=\"EmbedText\",model=\"models/m@1\"} 4",
        "scanline_received_bytes_total{method=\"EmbedText\"} 15"}) {
    EXPECT_THAT(figures, HasSubstr(line));
  }
  EXPECT_THAT(figures, Not(HasSubstr("scanline_clip_bytes_count")));
}

TEST_F(PipelineTexts, ATextWithNothingToReadIsNamedByItsPlaceInTheRequest) {
  const auto alone = Run(MakeTextRequest(model_, {"a", ""}));
  EXPECT_EQ(ReasonOf(alone.status()), Reason::kFieldInvalid);
  EXPECT_THAT(MetadataOf(alone.status()), Contains(Pair("field", "texts[1]")));

  Request request = MakeRequest(model_);
  request.answer.tasks = {.match = true};
  request.texts = {"a", "a clip of a", "", "a clip of "};
  request.prompts = 2;
  const auto beside_a_clip = Run(std::move(request));
  EXPECT_THAT(MetadataOf(beside_a_clip.status()),
              Contains(Pair("field", "spec.match_text.texts[1]")));
}

TEST_F(PipelineTexts, AClipIsRunOnceForAllOfItsTasks) {
  std::atomic<int> runs{0};
  std::atomic<int64_t> held{0};
  before_ = [&](Batch batch) {
    runs.fetch_add(static_cast<int>(batch.size()));
    held.store(pipeline_.snapshot().inflight.bytes);
  };
  Request request = MakeRequest(model_, std::string(1, '\0'));
  request.answer.tasks = {.embed = true, .match = true};
  request.texts = {"black", "red"};
  const auto reply = Run(std::move(request));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(runs.load(), 1);
  EXPECT_EQ(held.load(), 2 * 48 + 8) << "the pictures and the texts";
  EXPECT_EQ(reply->prediction.logits.size(), 1U);
  EXPECT_EQ(reply->prediction.embeddings.size(), 1U);
  EXPECT_EQ(reply->prediction.texts.size(), 2U);
  EXPECT_EQ(reply->usage.tokens, 8) << "the vision's alone";
  EXPECT_GT(reply->usage.batch_tokens, 8) << "what the texts cost too";
  EXPECT_THAT(Figures(), HasSubstr("task=\"classify+embed+match_text\"} 1"));
}

TEST(PipelineTextsEarly, AreRefusedWhileLoadingAndWhenDraining) {
  Metrics metrics;
  const ModelPtr model = MakeTextModel("m");
  Pipeline pipeline({.decode_threads = 1, .workers = 1}, ModelTable({model}), DecodeFirstByte,
                    &metrics);
  Answer early;
  pipeline.Submit(MakeTextRequest(model, {"a"}), absl::Now(), early.done());
  EXPECT_EQ(ReasonOf(early.Wait().status()), Reason::kModelLoading);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  pipeline.Drain();
  Answer late;
  pipeline.Submit(MakeTextRequest(model, {"a"}), absl::Now(), late.done());
  EXPECT_EQ(ReasonOf(late.Wait().status()), Reason::kDraining);
}

TEST_F(PipelineTexts, WaitingOnesExpireByTimerAndGoWithTheirClient) {
  Gate gate;
  before_ = [&](Batch) { gate.Wait(); };
  Answer first;
  pipeline_.Submit(MakeTextRequest(model_, {"a"}), absl::Now(), first.done());
  gate.AwaitWaiters(1);
  Answer expired;
  pipeline_.Submit(MakeTextRequest(model_, {"a"}, absl::Now() + absl::Milliseconds(30)),
                   absl::Now(), expired.done());
  EXPECT_EQ(ReasonOf(expired.Wait().status()), Reason::kExpiredInQueue);
  Request request = MakeTextRequest(model_, {"a"});
  const Cancel cancel = request.cancel;
  Answer cancelled;
  pipeline_.Submit(std::move(request), absl::Now(), cancelled.done());
  cancel.RequestCancel();
  pipeline_.Sweep();
  EXPECT_EQ(ReasonOf(cancelled.Wait().status()), Reason::kCancelled);
  EXPECT_FALSE(first.came());
  gate.Open();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_THAT(Figures(), HasSubstr("scanline_cancelled_total{stage=\"batch_queue\"} 1"));
}

// Keeps `width` requests of one kind waiting, until told to stop.
class Flood {
 public:
  Flood(Pipeline* pipeline, int width, std::function<Request()> make)
      : pipeline_(pipeline), make_(std::move(make)) {
    for (int i = 0; i < width; ++i) Send();
  }
  ~Flood() {
    stop_.store(true);
    while (open_.load() > 0) std::this_thread::yield();
  }

 private:
  void Send() {
    open_.fetch_add(1);
    pipeline_->Submit(make_(), absl::Now(), [this](const absl::StatusOr<Reply>& reply) {
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!stop_.load()) Send();
      open_.fetch_sub(1);
    });
  }

  Pipeline* const pipeline_;
  const std::function<Request()> make_;
  std::atomic<int> open_{0};
  std::atomic<bool> stop_{false};
};

// Holds every batch until it is let through, so that a test sees the order of batches, whatever the
// machine's load.
class Steps {
 public:
  void Hold(Batch batch) {
    std::unique_lock lock(mu_);
    held_ = IsOfTexts(batch) ? WorkKind::kTexts : WorkKind::kClip;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_.has_value() || open_; });
  }
  // The kind of the batch that is held, once there is one.
  WorkKind Await() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return held_.has_value(); });
    return *held_;
  }
  void LetThrough() {
    const std::lock_guard lock(mu_);
    held_.reset();
    changed_.notify_all();
  }
  void Open() {
    const std::lock_guard lock(mu_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::optional<WorkKind> held_;
  bool open_ = false;
};

class SharedWorker : public PipelineTexts {
 protected:
  SharedWorker() {
    before_ = [this](Batch batch) { steps_.Hold(batch); };
  }
  void TearDown() override {
    steps_.Open();
    flood_.reset();
    for (Answer& answer : answers_) answer.Wait();
  }

  void Begin(int width, std::function<Request()> make) {
    flood_.emplace(&pipeline_, width, std::move(make));
    // A batch of 8 is held, the others are decoded and wait.
    while (Waiting() < width - 8) std::this_thread::yield();
  }
  int64_t Waiting() { return pipeline_.snapshot().batch_queue.requests; }

  // How many batches of the flood began before that of `request`, which comes while one runs.
  int BatchesBefore(Request request) {
    const WorkKind kind = request.has_clip() ? WorkKind::kClip : WorkKind::kTexts;
    steps_.Await();
    const int64_t waiting = Waiting();
    Answer& answer = answers_.emplace_back();
    pipeline_.Submit(std::move(request), absl::Now(), answer.done());
    while (Waiting() == waiting) std::this_thread::yield();
    steps_.LetThrough();
    int batches = 0;
    for (; steps_.Await() != kind; ++batches) {
      if (batches == kMany) return batches;
      steps_.LetThrough();
    }
    steps_.LetThrough();
    EXPECT_TRUE(answer.Wait().ok()) << answer.Wait().status();
    return batches;
  }

  Request OneClip() { return MakeRequest(model_, "x"); }
  Request OneText() { return MakeTextRequest(model_, {"black"}); }
  Request ThousandTexts() {
    return MakeTextRequest(model_, std::vector<std::string>(1000, "a text of many words"));
  }

  static constexpr int kMany = 50;
  Steps steps_;
  std::optional<Flood> flood_;
  std::deque<Answer> answers_;
};

constexpr int kFewBatches = 1;  // beside the one that runs

TEST_F(SharedWorker, UnderAFloodOfClipsATextWaitsForAFewBatches) {
  Begin(64, [this] { return OneClip(); });
  for (int i = 0; i < 100; ++i) ASSERT_LE(BatchesBefore(OneText()), kFewBatches) << i;
}

TEST_F(SharedWorker, UnderAFloodOfThousandTextsClipsGoOn) {
  Begin(64, [this] { return ThousandTexts(); });
  for (int i = 0; i < 100; ++i) ASSERT_LE(BatchesBefore(OneClip()), kFewBatches) << i;
}

TEST_F(PipelineTexts, AFullHouseOfTextsLeavesPlacesForClips) {
  Gate gate;
  before_ = [&](Batch) { gate.Wait(); };
  std::vector<Answer> texts(256);
  for (Answer& answer : texts) {
    pipeline_.Submit(MakeTextRequest(model_, {"black"}), absl::Now(), answer.done());
  }
  int refused = 0;
  for (Answer& answer : texts) refused += answer.came() ? 1 : 0;
  EXPECT_EQ(refused, 32);
  Answer clip;
  pipeline_.Submit(MakeRequest(model_), absl::Now(), clip.done());
  gate.Open();
  EXPECT_TRUE(clip.Wait().ok()) << clip.Wait().status();
  for (Answer& answer : texts) answer.Wait();
}

}  // namespace
}  // namespace scanline
