// People on the one path: found while the clip is decoded or given, timed, counted and cancelled.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/clock.h"
#include "base/error.h"
#include "server/pipeline.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeRequest;
using testing::NewDetectModel;
using ::testing::SizeIs;

constexpr absl::Duration kFinding = absl::Milliseconds(3);

// One window and, behind it, keyframes at 1 and 2 s with views of their own. Pictures are white.
Clip WithKeyframes() {
  Clip clip = testing::MakeClip(255);
  for (const int k : {1, 2}) {
    clip.views.push_back({.window = -1, .pictures = {0, 1}});
    clip.keyframes.push_back(
        {.seconds = 1.0 * k, .frame = 30 * k, .view = k, .width = 8, .height = 4});
  }
  return clip;
}

class PipelineDetect : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(pipeline_.WaitReady().ok()); }

  Request DetectRequest(PeopleSpec people) {
    Request request = MakeRequest(model_);
    request.answer.tasks = {.classify = false, .detect = true};
    request.frame_spec = model_->config.frame_spec;
    request.people = std::move(people);
    return request;
  }
  absl::StatusOr<Reply> Run(Request request) {
    Answer answer;
    pipeline_.Submit(std::move(request), absl::Now(), answer.done());
    return std::move(answer.Wait());
  }
  std::string Figures() { return metrics_.Render(pipeline_.snapshot()); }

  Metrics metrics_;
  PeopleOfKeyframes found_ = {{{0.5f, 0, 0.75f, 1, 0.5f}}, {}};
  ModelPtr model_ = NewDetectModel("m");
  Pipeline pipeline_{{.decode_threads = 1, .workers = 1},
                     ModelTable({model_}),
                     [this](const Request& request) -> absl::StatusOr<DecodedClip> {
                       DecodedClip decoded(WithKeyframes());
                       if (!request.people.find) return decoded;
                       decoded.found = found_;
                       decoded.finding = kFinding;
                       absl::SleepFor(kFinding);  // that is what it is said to have taken
                       return decoded;
                     },
                     &metrics_};
};

TEST_F(PipelineDetect, PeopleFoundAreDescribedAndTheTimeIsShown) {
  const auto reply = Run(DetectRequest({.find = true}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_THAT(reply->people.all, ElementsAre(SizeIs(1), SizeIs(0)));
  ASSERT_THAT(reply->prediction.actions, ElementsAre(SizeIs(1), SizeIs(0)));
  EXPECT_THAT(reply->prediction.actions[0][0].logits, ElementsAre(1, 1));
  EXPECT_THAT(reply->prediction.actions[0][0].scores, ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(reply->usage.batch_tokens, 8);  // one view of three was run
  const Timing& t = reply->timing;
  ASSERT_TRUE(t.find_people.has_value());
  EXPECT_EQ(*t.find_people, kFinding);
  EXPECT_GE(*t.decode, absl::ZeroDuration());
  EXPECT_EQ(
      *t.receive + *t.decode_queue + *t.decode + *t.find_people + *t.batch_queue + *t.inference,
      t.total);
  const std::string figures = Figures();
  EXPECT_THAT(figures, HasSubstr("scanline_stage_duration_seconds_count{stage=\"find_people\"} 1"));
  EXPECT_THAT(figures, HasSubstr("task=\"detect_actions\"} 1"));
}

TEST_F(PipelineDetect, BoxesOfTheClientCountAtEveryKeyframe) {
  Request request = DetectRequest({.boxes = {{{0.25, 0, 0.5, 1}}}});
  request.answer.tasks.classify = true;
  const auto reply = Run(std::move(request));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->prediction.actions, ElementsAre(SizeIs(1), SizeIs(1)));
  EXPECT_THAT(reply->prediction.logits, SizeIs(1));
  EXPECT_EQ(reply->usage.batch_tokens, 24);
  EXPECT_FALSE(reply->timing.find_people.has_value());
  EXPECT_THAT(Figures(), HasSubstr("task=\"classify+detect_actions\"} 1"));
}

TEST_F(PipelineDetect, NobodyIsAnAnswerToo) {
  found_ = {{}, {}};
  const auto reply = Run(DetectRequest({.find = true}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->prediction.actions, ElementsAre(SizeIs(0), SizeIs(0)));
  EXPECT_EQ(reply->usage.batch_tokens, 1);  // the least: nothing was run
}

TEST_F(PipelineDetect, TooManyBoxesOverAllKeyframesAreRefusedAndTheirPlaceIsFree) {
  const auto reply = Run(DetectRequest({.boxes = {{{0, 0, 1, 1}, {0, 0, 1, 1}}}, .max_boxes = 3}));
  EXPECT_EQ(ReasonOf(reply.status()), Reason::kFieldInvalid);
  EXPECT_EQ(pipeline_.snapshot().inflight.requests, 0);
  EXPECT_EQ(pipeline_.snapshot().inflight.bytes, 0);
}

}  // namespace
}  // namespace scanline
