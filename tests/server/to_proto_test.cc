#include "server/to_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/doubles.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using testing::MakeModel;

// Two windows of two frames each, the second frame shared; three classes.
Reply TwoWindows() {
  Reply reply;
  reply.model = MakeModel("m");
  reply.clip.sampled = {{.index = 4, .seconds = 0.5},
                        {.index = 6, .seconds = 0.75, .corrupt = true},
                        {.index = 9, .seconds = 1.125}};
  reply.clip.windows = {{0, 1}, {0.5, 1.5}};
  reply.clip.views = {{.window = 0, .pictures = {0, 1}}, {.window = 1, .pictures = {1, 2}}};
  reply.clip.source.codec = "vp9";
  reply.clip.source.width = 320;
  reply.clip.source.height = 240;
  reply.clip.source.duration_seconds = 1.5;
  reply.clip.notices = {{"VIDEO_TRUNCATED", "the last 3 frames are missing"}};
  const float high = std::log(8.0f);
  reply.prediction.logits = {{high, 0, 0}, {0, 0, high}};
  return reply;
}

TEST(ToProto, ClassesAreTheMeanOverTheViewsAndBestFirst) {
  v1::ClipResult result;
  ToProto(TwoWindows(), &result);
  ASSERT_EQ(result.classes_size(), 3);
  EXPECT_EQ(result.classes(0).label(), "a");
  EXPECT_EQ(result.classes(1).label(), "c");
  EXPECT_EQ(result.classes(1).class_index(), 2);
  EXPECT_NEAR(result.classes(0).score(), (0.8 + 0.1) / 2, 1e-6);
  EXPECT_NEAR(result.classes(2).score(), 0.1, 1e-6);
  EXPECT_EQ(result.classes(0).logit(), 0);  // not asked for
  EXPECT_EQ(result.windows_size(), 0);      // not asked for
}

TEST(ToProto, OptionsCutTheListAndAddLogits) {
  Reply reply = TwoWindows();
  reply.answer.include_logits = true;
  reply.answer.top_k = 1;
  v1::ClipResult result;
  ToProto(reply, &result);
  ASSERT_EQ(result.classes_size(), 1);
  EXPECT_NEAR(result.classes(0).logit(), std::log(8.0) / 2, 1e-6);

  reply.answer = {.top_k = 5, .min_score = 0.2f};
  result.Clear();
  ToProto(reply, &result);
  EXPECT_EQ(result.classes_size(), 2);
}

TEST(ToProto, WindowsHaveTheirOwnClasses) {
  Reply reply = TwoWindows();
  reply.answer.windows = true;
  reply.answer.top_k = 1;
  v1::ClipResult result;
  ToProto(reply, &result);
  ASSERT_EQ(result.windows_size(), 2);
  EXPECT_EQ(result.windows(0).classes(0).label(), "a");
  EXPECT_NEAR(result.windows(0).classes(0).score(), 0.8, 1e-6);
  EXPECT_EQ(result.windows(1).classes(0).label(), "c");
  EXPECT_EQ(result.windows(1).start_offset().nanos(), 500'000'000);
  EXPECT_EQ(result.windows(1).end_offset().seconds(), 1);
}

TEST(ToProto, TheReportTellsWhatWasLookedAt) {
  v1::ClipResult result;
  ToProto(TwoWindows(), &result);
  EXPECT_EQ(result.model(), "models/m@1");
  const v1::SamplingReport& sampling = result.sampling();
  EXPECT_THAT(sampling.frame_indices(), ElementsAre(4, 6, 6, 9));
  ASSERT_EQ(sampling.frame_offsets_size(), 4);
  EXPECT_EQ(sampling.frame_offsets(3).seconds(), 1);
  EXPECT_EQ(sampling.frame_offsets(3).nanos(), 125'000'000);
  EXPECT_EQ(sampling.frames_repeated(), 0);  // frame 6 is in two windows, not twice in one
  EXPECT_EQ(sampling.frames_corrupt(), 1);
  EXPECT_EQ(sampling.codec(), "vp9");
  EXPECT_EQ(sampling.source_width(), 320);
  EXPECT_EQ(sampling.source_height(), 240);
  ASSERT_EQ(result.warnings_size(), 1);
  EXPECT_EQ(result.warnings(0).reason(), "VIDEO_TRUNCATED");
}

TEST(ToProto, SpatialViewsShareTheirFramesAndRepeatsAreCounted) {
  Reply reply = TwoWindows();
  reply.clip.spatial_views = 3;
  reply.clip.windows = {{0, 1}};
  reply.clip.views.clear();
  for (int spatial = 0; spatial < 3; ++spatial) {
    reply.clip.views.push_back(
        {.spatial_view = spatial, .pictures = {0 + spatial, 6 + spatial, 6 + spatial}});
  }
  reply.prediction.logits.resize(3, {0, 0, 0});
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_THAT(result.sampling().frame_indices(), ElementsAre(4, 9, 9));
  EXPECT_EQ(result.sampling().frames_repeated(), 1);
}

TEST(ToProto, FramesWithoutTimesHaveNoOffsets) {
  Reply reply = TwoWindows();
  reply.clip.sampled[1].seconds.reset();
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_EQ(result.sampling().frame_offsets_size(), 0);
  EXPECT_EQ(result.sampling().frame_indices_size(), 4);
}

TEST(ToProto, TimingAndUsageAreAlwaysThere) {
  Reply reply = TwoWindows();
  reply.timing.decode = absl::Milliseconds(1500);
  reply.timing.total = absl::Nanoseconds(7);
  reply.usage = {.tokens = 512, .frames_decoded = 10, .batch_size = 2, .batch_tokens = 768};
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_EQ(result.timing().decode().seconds(), 1);
  EXPECT_EQ(result.timing().decode().nanos(), 500'000'000);
  EXPECT_EQ(result.timing().total().nanos(), 7);
  EXPECT_TRUE(result.timing().has_inference());
  EXPECT_EQ(result.usage().tokens(), 512);
  EXPECT_EQ(result.usage().frames_decoded(), 10);
  EXPECT_EQ(result.usage().batch_size(), 2);
  EXPECT_EQ(result.usage().batch_tokens(), 768);
}

// The same with vectors and two texts; the second window is nearer to the second text.
Reply TwoWindowsWithTexts() {
  Reply reply = TwoWindows();
  reply.model = testing::MakeTextModel("m");
  reply.answer.tasks = {.classify = false, .embed = true, .match = true};
  reply.prediction.logits.clear();
  reply.prediction.embeddings = {{1, 0}, {0, 1}};
  reply.prediction.raw_embeddings = {{4, 0}, {0, 2}};
  reply.prediction.texts = {{.values = {1, 0}}, {.values = {0, 1}}};
  return reply;
}

TEST(ToProto, TheClipsVectorIsTheMeanOfItsViewsWithTheStretchItStandsFor) {
  v1::ClipResult result;
  ToProto(TwoWindowsWithTexts(), &result);
  ASSERT_EQ(result.embeddings_size(), 1);
  EXPECT_THAT(result.embeddings(0).values(), ElementsAre(0.5, 0.5));
  EXPECT_EQ(result.embeddings(0).start_offset().seconds(), 0);
  EXPECT_TRUE(result.embeddings(0).has_start_offset());
  EXPECT_EQ(result.embeddings(0).end_offset().nanos(), 500'000'000);
  EXPECT_EQ(result.classes_size(), 0);
  EXPECT_EQ(result.windows_size(), 0);
}

TEST(ToProto, VectorsComeBeforeNormalisationWhereAsked) {
  Reply reply = TwoWindowsWithTexts();
  reply.answer.skip_normalize = true;
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_THAT(result.embeddings(0).values(), ElementsAre(2, 1));
  EXPECT_EQ(result.text_matches(0).similarity(), 0.5) << "scored as ever";
}

TEST(ToProto, WindowsHaveTheirOwnVectorsAndMatches) {
  Reply reply = TwoWindowsWithTexts();
  reply.answer.windows = true;
  v1::ClipResult result;
  ToProto(reply, &result);
  ASSERT_EQ(result.windows_size(), 2);
  EXPECT_THAT(result.windows(1).embedding().values(), ElementsAre(0, 1));
  EXPECT_EQ(result.windows(1).embedding().start_offset().nanos(), 500'000'000);
  EXPECT_EQ(result.windows(1).text_matches(0).similarity(), 0);
  EXPECT_EQ(result.windows(1).text_matches(1).similarity(), 1);
  EXPECT_EQ(result.embeddings_size(), 1) << "per_window was not asked for";

  reply.answer.window_embeddings = true;
  result.Clear();
  ToProto(reply, &result);
  ASSERT_EQ(result.embeddings_size(), 3);
  EXPECT_THAT(result.embeddings(2).values(), ElementsAre(0, 1));
  EXPECT_EQ(result.embeddings(2).start_offset().nanos(), 500'000'000);
  EXPECT_EQ(result.embeddings(2).end_offset().seconds(), 1);
}

TEST(ToProto, MatchesAreSimilaritiesAndTheirSoftmaxAtTheModelsTemperature) {
  Reply reply = TwoWindowsWithTexts();
  reply.prediction.embeddings = {{1, 0}, {1, 0}};
  v1::ClipResult result;
  ToProto(reply, &result);
  ASSERT_EQ(result.text_matches_size(), 2);
  EXPECT_EQ(result.text_matches(0).similarity(), 1);
  EXPECT_EQ(result.text_matches(1).similarity(), 0);
  EXPECT_NEAR(result.text_matches(0).score(), 1 / (1 + std::exp(-1 / 0.5)), 1e-6);
  EXPECT_EQ(result.text_matches(0).match_logit(), 0);

  reply.answer.tasks.rerank = true;
  reply.prediction.match_logits = {{3, -100}, {1, -100}};
  result.Clear();
  ToProto(reply, &result);
  EXPECT_EQ(result.text_matches(0).match_logit(), 2);
  EXPECT_EQ(result.text_matches(1).match_logit(), -100);
}

TEST(ToProto, PromptsOfOneLabelAreOneMatch) {
  Reply reply = TwoWindowsWithTexts();
  reply.prompts = 2;
  reply.prediction.texts = {{.values = {1, 0}},
                            {.values = {0, 1}},
                            {.values = {0, 1}, .unknown_words = {"zebra"}},
                            {.values = {0, 1}, .truncated = true}};
  v1::ClipResult result;
  ToProto(reply, &result);
  ASSERT_EQ(result.text_matches_size(), 2);
  EXPECT_NEAR(result.text_matches(0).similarity(), 0.5 * std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(result.text_matches(1).similarity(), 0.5, 1e-6);
  ASSERT_EQ(result.warnings_size(), 3);
  EXPECT_EQ(result.warnings(1).reason(), "UNKNOWN_TERMS");
  EXPECT_EQ(result.warnings(1).message(),
            "spec.match_text.texts[1]: the model does not know \"zebra\"");
  EXPECT_EQ(result.warnings(2).reason(), "TEXT_TRUNCATED");
}

TEST(ToProto, TextsAloneAreVectorsInTheirOrderWithWarnings) {
  Reply reply;
  reply.model = testing::MakeTextModel("m");
  reply.prediction.texts = {{.values = {1, 0}}, {.values = {0, 1}, .unknown_words = {"zebra"}}};
  reply.timing.total = absl::Milliseconds(7);
  v1::EmbedTextResponse response;
  ToProto(reply, &response);
  ASSERT_EQ(response.embeddings_size(), 2);
  EXPECT_THAT(response.embeddings(1).values(), ElementsAre(0, 1));
  EXPECT_FALSE(response.embeddings(1).has_start_offset());
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_EQ(response.warnings(0).message(), "texts[1]: the model does not know \"zebra\"");
  EXPECT_EQ(response.timing().total().nanos(), 7'000'000);
}

TEST(ToProto, AModelTellsWhatItTakesOfTexts) {
  auto model = testing::NewTextModel("m");
  v1::Model message;
  ToProto(*model, v1::Model::STATE_READY, &message);
  EXPECT_THAT(message.tasks(), ElementsAre(v1::TASK_CLASSIFY, v1::TASK_EMBED, v1::TASK_MATCH_TEXT));
  EXPECT_EQ(message.embedding_dim(), 2);
  EXPECT_THAT(message.prompts(), ElementsAre("{}", "a clip of {}"));
  EXPECT_EQ(message.temperature(), 0.5);
  EXPECT_EQ(message.max_text_tokens(), 4);
  EXPECT_EQ(message.score_kind(), v1::SCORE_KIND_SOFTMAX);

  model->config.tasks = {"embed", "match"};
  model->config.classify.labels.clear();
  message.Clear();
  ToProto(*model, v1::Model::STATE_READY, &message);
  EXPECT_EQ(message.score_kind(), v1::SCORE_KIND_COSINE);
}

TEST(ToProto, AModelTellsWhatItTakes) {
  auto model = std::make_shared<ServedModel>(*MakeModel("m"));
  model->config.tasks = {"classify", "detect"};
  model->config.license = "Apache-2.0";
  model->weights_sha256 = "abc";
  v1::Model message;
  ToProto(*model, v1::Model::STATE_READY, &message);
  EXPECT_EQ(message.name(), "models/m");
  EXPECT_EQ(message.version(), "1");
  EXPECT_THAT(message.tasks(), ElementsAre(v1::TASK_CLASSIFY, v1::TASK_DETECT_ACTIONS));
  EXPECT_FALSE(message.finds_people());
  EXPECT_EQ(message.frame_count(), 2);
  EXPECT_EQ(message.input_size_px(), 4);
  EXPECT_EQ(message.tokens_per_clip(), 2 * 2 * 2);
  EXPECT_THAT(message.labels(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(message.score_kind(), v1::SCORE_KIND_SOFTMAX);
  EXPECT_EQ(message.weights_sha256(), "abc");
  EXPECT_EQ(message.license(), "Apache-2.0");
  EXPECT_EQ(message.embedding_dim(), 0);
  EXPECT_EQ(message.temperature(), 0);
  EXPECT_EQ(message.prompts_size(), 0);
}

}  // namespace
}  // namespace scanline
