// Texts on the one path: EmbedText, texts beside a clip, and how clips and texts share the workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
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

class SharedWorker : public PipelineTexts {
 protected:
  SharedWorker() {
    before_ = [this](Batch batch) { (IsOfTexts(batch) ? text_batches_ : clip_batches_) += 1; };
  }

  // The most batches of the flood that began while one of `count` requests, each sent upon the
  // answer to the last, was under way.
  int WorstWait(int count, const std::atomic<int>& flood_batches,
                const std::function<Request()>& make) {
    int worst = 0;
    for (int i = 0; i < count; ++i) {
      const int before = flood_batches.load();
      EXPECT_TRUE(Run(make()).ok());
      worst = std::max(worst, flood_batches.load() - before);
    }
    return worst;
  }

  Request OneClip() { return MakeRequest(model_, "x"); }
  Request ThousandTexts() {
    return MakeTextRequest(model_, std::vector<std::string>(1000, "a text of many words"));
  }
  Request OneText() { return MakeTextRequest(model_, {"black"}); }

  std::atomic<int> text_batches_{0};
  std::atomic<int> clip_batches_{0};
};

// At most: one that was pulled before the request was in the queue, and one beside the answer.
constexpr int kFewBatches = 3;

TEST_F(SharedWorker, UnderAFloodOfClipsATextWaitsForAFewBatches) {
  const Flood flood(&pipeline_, 64, [this] { return OneClip(); });
  while (clip_batches_.load() < 3) std::this_thread::yield();
  EXPECT_LE(WorstWait(300, clip_batches_, [this] { return OneText(); }), kFewBatches);
}

// The clip is decoded first, and meanwhile texts may run: its wait for the worker alone is bounded.
TEST_F(SharedWorker, UnderAFloodOfThousandTextsClipsGoOn) {
  const Flood flood(&pipeline_, 32, [this] { return ThousandTexts(); });
  while (text_batches_.load() < 3) std::this_thread::yield();
  EXPECT_LE(WorstWait(50, text_batches_, [this] { return OneClip(); }), 2 * kFewBatches);
}

TEST_F(SharedWorker, AFullHouseOfTextsLeavesPlacesForClips) {
  Gate gate;
  before_ = [&](Batch) { gate.Wait(); };
  std::vector<Answer> texts(256);
  for (Answer& answer : texts) pipeline_.Submit(OneText(), absl::Now(), answer.done());
  int refused = 0;
  for (Answer& answer : texts) refused += answer.came() ? 1 : 0;
  EXPECT_EQ(refused, 32);
  Answer clip;
  pipeline_.Submit(OneClip(), absl::Now(), clip.done());
  gate.Open();
  EXPECT_TRUE(clip.Wait().ok()) << clip.Wait().status();
  for (Answer& answer : texts) answer.Wait();
}

}  // namespace
}  // namespace scanline
