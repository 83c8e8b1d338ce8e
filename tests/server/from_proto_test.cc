#include "server/from_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/error.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeModel;
using ::testing::Pair;

v1::AnalyzeClipRequest Parse(const std::string& text) {
  v1::AnalyzeClipRequest message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// A model of 2 frames of 4 x 4 whose own rule is windows of 1 s every 0.5 s, clips up to 2 s whole.
ModelPtr WindowModel() {
  auto model = std::make_shared<ServedModel>(*MakeModel("windows"));
  model->config.frame_spec.sampling = {.rule = SamplingRule::kWindow,
                                       .frames = 2,
                                       .window_seconds = 1,
                                       .stride_seconds = 0.5,
                                       .single_up_to_seconds = 2};
  return model;
}

struct Wrong {
  const char* spec;
  const char* field;
};

class FromProtoTest : public ::testing::Test {
 protected:
  absl::StatusOr<Request> Read(const std::string& text) {
    v1::AnalyzeClipRequest message = Parse(text);
    return FromProto(message, models_, {.max_inline_bytes = 100, .max_pixels = 1000}, Cancel());
  }

  // `rest` is put behind a spec that is fine by itself.
  absl::StatusOr<Request> ReadSpec(const std::string& spec) {
    return Read("content: \"x\" spec { tasks: TASK_CLASSIFY " + spec + " }");
  }

  absl::StatusOr<Request> ReadTexts(const std::string& text) {
    v1::EmbedTextRequest message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    return FromProto(message, models_, {.max_texts = 3, .max_text_bytes = 8}, Cancel());
  }

  ModelTable models_{{MakeModel("plain"), WindowModel(), testing::MakeTextModel("text")}};
};

TEST_F(FromProtoTest, AMinimalRequestGetsTheDefaults) {
  const auto request = Read("content: \"bytes\" spec { tasks: TASK_CLASSIFY }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->model->full_name(), "models/plain@1");
  EXPECT_EQ(std::get<std::string>(request->input), "bytes");
  EXPECT_EQ(request->answer.top_k, 5);
  EXPECT_EQ(request->answer.min_score, 0);
  EXPECT_FALSE(request->answer.include_logits);
  EXPECT_FALSE(request->answer.windows);
  EXPECT_FALSE(request->allow_partial);
  EXPECT_EQ(request->frame_spec.sampling.frames, 2);
}

TEST_F(FromProtoTest, TheBytesAreMovedNotCopied) {
  v1::AnalyzeClipRequest message = Parse("spec { tasks: TASK_CLASSIFY }");
  message.set_content(std::string(80, 'x'));
  const char* const place = message.content().data();
  const auto request = FromProto(message, models_, {}, Cancel());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(std::get<std::string>(request->input).data(), place);
}

TEST_F(FromProtoTest, ModelsAreFoundByNameWithOrWithoutVersion) {
  EXPECT_EQ(ReadSpec("model: \"models/windows\"")->model->config.name, "windows");
  EXPECT_EQ(ReadSpec("model: \"models/windows@1\"")->model->config.name, "windows");
  for (const char* name : {"models/windows@2", "models/nothing", "windows", "models/"}) {
    const auto request = ReadSpec(std::string("model: \"") + name + "\"");
    EXPECT_EQ(ReasonOf(request.status()), Reason::kModelNotFound) << name;
    EXPECT_THAT(request.status().message(),
                HasSubstr("models/plain@1, models/windows@1, models/text@1"));
  }
}

TEST_F(FromProtoTest, TasksThatTheModelIsNotServedForAreNamed) {
  for (const std::string task : {"TASK_EMBED", "TASK_DETECT_ACTIONS", "TASK_MATCH_TEXT"}) {
    const absl::Status status = ReadSpec("tasks: " + task).status();
    EXPECT_EQ(ReasonOf(status), Reason::kTaskUnsupported);
    EXPECT_THAT(MetadataOf(status), Contains(Pair("task", task)));
  }
  auto texts_alone = testing::NewTextModel("texts-alone");
  texts_alone->config.tasks = {"embed"};
  v1::AnalyzeClipRequest message = Parse("content: \"x\" spec { tasks: TASK_CLASSIFY }");
  EXPECT_EQ(ReasonOf(FromProto(message, ModelTable({texts_alone}), {}, Cancel()).status()),
            Reason::kTaskUnsupported);
}

TEST_F(FromProtoTest, TasksComeInAnyCombination) {
  const auto request = Read(
      "content: \"x\" spec { model: \"models/text\" tasks: [TASK_EMBED, TASK_MATCH_TEXT, "
      "TASK_EMBED] embed { skip_normalize: true } match_text { texts: [\"a\", \"b\"] } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->answer.tasks.classify);
  EXPECT_TRUE(request->answer.tasks.embed);
  EXPECT_TRUE(request->answer.tasks.match);
  EXPECT_FALSE(request->answer.tasks.rerank);
  EXPECT_TRUE(request->answer.skip_normalize);
  EXPECT_FALSE(request->answer.windows);
  EXPECT_THAT(request->texts, ElementsAre("a", "b"));
  EXPECT_EQ(request->prompts, 1);
  EXPECT_EQ(request->text_bytes(), 2);
}

TEST_F(FromProtoTest, VectorsOfWindowsGiveWindows) {
  const auto request = Read(
      "content: \"x\" spec { model: \"models/text\" tasks: TASK_EMBED embed { per_window: true } "
      "}");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->answer.windows);
  EXPECT_TRUE(request->answer.window_embeddings);
}

TEST_F(FromProtoTest, LabelsArePutIntoEveryPrompt) {
  const auto request = Read(
      "content: \"x\" spec { model: \"models/text\" tasks: TASK_MATCH_TEXT match_text { "
      "texts: [\"dog\", \"cat\"] use_prompts: true } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->prompts, 2);
  EXPECT_THAT(request->texts, ElementsAre("dog", "a clip of dog", "cat", "a clip of cat"));
}

// Options of a task that is not asked for have no effect, but their limits hold.
TEST_F(FromProtoTest, TextsWithoutTheTaskAreNotRead) {
  const auto request = ReadSpec("match_text { texts: \"a\" rerank: true }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->texts.empty());
  EXPECT_FALSE(request->answer.tasks.rerank);
}

TEST_F(FromProtoTest, RerankIsTakenWhereThereAreFusionLayers) {
  auto model = testing::NewTextModel("fusion");
  model->config.text_tower->fusion_depth = 3;
  v1::AnalyzeClipRequest message = Parse(
      "content: \"x\" spec { tasks: TASK_MATCH_TEXT match_text { texts: \"a\" rerank: true } }");
  const auto request = FromProto(message, ModelTable({model}), {}, Cancel());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->answer.tasks.rerank);
}

TEST_F(FromProtoTest, TextsAloneHaveNoClip) {
  const auto request = ReadTexts("model: \"models/text\" texts: [\"a dog\", \"\", \"a dog\"]");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->has_clip());
  EXPECT_EQ(request->clip_bytes(), 0);
  EXPECT_EQ(request->text_bytes(), 10);
  EXPECT_THAT(request->texts, ElementsAre("a dog", "", "a dog"));
}

TEST_F(FromProtoTest, WrongTextsAreNamed) {
  const std::string model = "model: \"models/text\" ";
  const Wrong kWrong[] = {
      {"", "texts"},
      {"texts: [\"a\", \"b\", \"c\", \"d\"]", "texts"},
      {"texts: [\"a\", \"123456789\"]", "texts[1]"},
      {"texts: \"a\" request_id: \"7\"", "request_id"},
  };
  for (const Wrong& wrong : kWrong) {
    const auto request = ReadTexts(model + wrong.spec);
    EXPECT_EQ(ReasonOf(request.status()), Reason::kFieldInvalid) << wrong.spec;
    EXPECT_THAT(MetadataOf(request.status()), Contains(Pair("field", wrong.field))) << wrong.spec;
  }
  EXPECT_EQ(ReasonOf(ReadTexts("texts: \"a\"").status()), Reason::kTaskUnsupported);
  EXPECT_EQ(ReasonOf(ReadTexts("model: \"models/none\" texts: \"a\"").status()),
            Reason::kModelNotFound);
}

TEST_F(FromProtoTest, WrongFieldsOfTheSpecAreNamed) {
  const Wrong kWrong[] = {
      {"tasks: TASK_UNSPECIFIED", "spec.tasks"},
      {"sampling { frame_count: 3 }", "spec.sampling.frame_count"},
      {"sampling { start_offset { seconds: -1 } }", "spec.sampling.start_offset"},
      {"sampling { start_offset { nanos: 2000000000 } }", "spec.sampling.start_offset"},
      {"sampling { end_offset { seconds: -1 } }", "spec.sampling.end_offset"},
      {"sampling { end_offset { } }", "spec.sampling.end_offset"},
      {"sampling { start_offset { seconds: 2 } end_offset { seconds: 1 } }",
       "spec.sampling.end_offset"},
      {"sampling { start_offset { seconds: 2 } end_offset { seconds: 2 } }",
       "spec.sampling.end_offset"},
      {"model: \"models/windows\" sampling { window_stride { } }", "spec.sampling.window_stride"},
      {"model: \"models/windows\" sampling { window_stride { seconds: -1 } }",
       "spec.sampling.window_stride"},
      {"model: \"models/windows\" sampling { window { } }", "spec.sampling.window"},
      {"sampling { window_stride { seconds: 1 } }", "spec.sampling.window"},
      {"sampling { window { seconds: 1 } }", "spec.sampling.window_stride"},
      {"sampling { sample_rate_hz: -1 }", "spec.sampling.sample_rate_hz"},
      {"sampling { sample_rate_hz: nan }", "spec.sampling.sample_rate_hz"},
      {"sampling { sample_rate_hz: 8 window { seconds: 1 } window_stride { seconds: 1 } }",
       "spec.sampling.sample_rate_hz"},
      {"sampling { temporal_views: 1000 }", "spec.sampling.temporal_views"},
      {"model: \"models/windows\" sampling { temporal_views: 2 }", "spec.sampling.temporal_views"},
      {"sampling { spatial_views: 2 }", "spec.sampling.spatial_views"},
      {"sampling { return_frames: true }", "spec.sampling.return_frames"},
      {"classify { min_score: -0.5 }", "spec.classify.min_score"},
      {"classify { min_score: 1.5 }", "spec.classify.min_score"},
      {"classify { min_score: nan }", "spec.classify.min_score"},
  };
  for (const Wrong& wrong : kWrong) {
    const auto request = ReadSpec(wrong.spec);
    EXPECT_EQ(ReasonOf(request.status()), Reason::kFieldInvalid) << wrong.spec;
    EXPECT_THAT(MetadataOf(request.status()), Contains(Pair("field", wrong.field))) << wrong.spec;
    EXPECT_THAT(request.status().message(), HasSubstr("expected")) << wrong.spec;
  }
}

TEST_F(FromProtoTest, NumbersOutsideAnEnumAreRefused) {
  v1::AnalyzeClipRequest message = Parse("content: \"x\"");
  message.mutable_spec()->add_tasks(static_cast<v1::Task>(99));
  EXPECT_THAT(MetadataOf(FromProto(message, models_, {}, Cancel()).status()),
              Contains(Pair("field", "spec.tasks")));
  message = Parse("content: \"x\" spec { tasks: TASK_CLASSIFY }");
  message.mutable_spec()->set_priority(static_cast<v1::Priority>(99));
  EXPECT_THAT(MetadataOf(FromProto(message, models_, {}, Cancel()).status()),
              Contains(Pair("field", "spec.priority")));
}

TEST_F(FromProtoTest, WrongFieldsOfTheRequestAreNamed) {
  const std::string spec = "spec { tasks: TASK_CLASSIFY } ";
  const Wrong kWrong[] = {
      {"content: \"x\"", "spec.tasks"},
      {"spec { tasks: TASK_CLASSIFY }", "input"},
      {"spec { tasks: TASK_CLASSIFY }", "input"},
      {"content: \"x\" request_id: \"7\" spec { tasks: TASK_CLASSIFY }", "request_id"},
      {"content: \"x\" request_id: \"123e4567-e89b-42d3-a456-42661417400g\"", "request_id"},
  };
  for (const Wrong& wrong : kWrong) {
    EXPECT_THAT(MetadataOf(Read(wrong.spec).status()), Contains(Pair("field", wrong.field)))
        << wrong.spec;
  }
  const auto fine =
      Read("content: \"x\" request_id: \"123e4567-e89b-42d3-a456-426614174000\" " + spec);
  ASSERT_TRUE(fine.ok()) << fine.status();
  EXPECT_EQ(fine->id, "123e4567-e89b-42d3-a456-426614174000");
}

TEST_F(FromProtoTest, AClipOverTheLimitIsTooLarge) {
  const auto fits =
      Read("spec { tasks: TASK_CLASSIFY } content: \"" + std::string(100, 'x') + "\"");
  EXPECT_TRUE(fits.ok()) << fits.status();
  const auto over =
      Read("spec { tasks: TASK_CLASSIFY } content: \"" + std::string(101, 'x') + "\"");
  EXPECT_EQ(ReasonOf(over.status()), Reason::kClipTooLarge);
  EXPECT_THAT(MetadataOf(over.status()), ElementsAre(Pair("limit", "100"), Pair("actual", "101")));
}

// 2 frames of 3 x 2 pixels.
v1::AnalyzeClipRequest FrameRequest() {
  v1::AnalyzeClipRequest message =
      Parse("spec { tasks: TASK_CLASSIFY } frames { count: 2 width: 3 height: 2 }");
  message.mutable_frames()->set_rgb(std::string(36, '\1'));
  return message;
}

TEST_F(FromProtoTest, FramesAreTakenWithTheirOffsets) {
  v1::AnalyzeClipRequest message = FrameRequest();
  message.mutable_frames()->add_offsets();
  message.mutable_frames()->add_offsets()->set_nanos(500'000'000);
  const auto request = FromProto(message, models_, {}, Cancel());
  ASSERT_TRUE(request.ok()) << request.status();
  const auto& frames = std::get<FrameInput>(request->input);
  EXPECT_EQ(frames.width, 3);
  EXPECT_EQ(frames.height, 2);
  EXPECT_EQ(frames.rgb.size(), 36);
  EXPECT_THAT(frames.offsets_seconds, ElementsAre(0, 0.5));
}

TEST_F(FromProtoTest, WrongFramesAreRefused) {
  const auto reason_of = [this](const std::function<void(v1::RawFrames&)>& change) {
    v1::AnalyzeClipRequest message = FrameRequest();
    change(*message.mutable_frames());
    const auto request =
        FromProto(message, models_, {.max_inline_bytes = 100, .max_pixels = 1000}, Cancel());
    return request.ok() ? "OK" : std::string(ReasonName(*ReasonOf(request.status())));
  };
  using Frames = v1::RawFrames;
  EXPECT_EQ(reason_of([](Frames&) {}), "OK");
  EXPECT_EQ(reason_of([](Frames& f) { f.set_count(3); }), "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) { f.set_width(0); }), "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) { f.set_height(0xFFFFFFFF); }), "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) { f.set_width(60'000); }), "RESOLUTION_LIMIT");
  EXPECT_EQ(reason_of([](Frames& f) { f.mutable_rgb()->pop_back(); }), "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) { f.add_offsets(); }), "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) {
              f.add_offsets()->set_seconds(1);
              f.add_offsets()->set_seconds(0);
            }),
            "FIELD_INVALID");
  EXPECT_EQ(reason_of([](Frames& f) {
              f.set_width(5);
              f.set_height(5);
              f.set_rgb(std::string(150, 'x'));
            }),
            "CLIP_TOO_LARGE");
}

TEST_F(FromProtoTest, NoPartOfFramesCanBeAskedFor) {
  v1::AnalyzeClipRequest message = FrameRequest();
  message.mutable_spec()->mutable_sampling()->mutable_start_offset()->set_seconds(0);
  EXPECT_TRUE(FromProto(message, models_, {}, Cancel()).ok());
  message = FrameRequest();
  message.mutable_spec()->mutable_sampling()->mutable_start_offset()->set_seconds(5);
  EXPECT_EQ(ReasonOf(FromProto(message, models_, {}, Cancel()).status()), Reason::kFieldInvalid);
  message = FrameRequest();
  message.mutable_spec()->mutable_sampling()->mutable_end_offset()->set_seconds(5);
  EXPECT_EQ(ReasonOf(FromProto(message, models_, {}, Cancel()).status()), Reason::kFieldInvalid);
}

TEST_F(FromProtoTest, ATensorIsOfTheModelsOwnShape) {
  const ModelPtr model = *models_.Find("");
  const auto frames = static_cast<uint32_t>(model->config.frame_spec.sampling.frames);
  const auto side = static_cast<uint32_t>(model->config.frame_spec.size);
  const auto field_of = [&](const std::function<void(v1::ClipTensor&)>& change) {
    v1::AnalyzeClipRequest message = Parse("spec { tasks: TASK_CLASSIFY } tensor { }");
    v1::ClipTensor& tensor = *message.mutable_tensor();
    tensor.set_frames(frames);
    tensor.set_height(side);
    tensor.set_width(side);
    tensor.set_values(std::string(size_t{12} * frames * side * side, '\0'));
    change(tensor);
    const auto request = FromProto(message, models_, {}, Cancel());
    if (request.ok()) return std::string();
    return MetadataOf(request.status()).at(0).second;
  };
  EXPECT_EQ(field_of([](v1::ClipTensor&) {}), "");
  EXPECT_EQ(field_of([&](v1::ClipTensor& t) { t.set_frames(frames + 1); }), "tensor");
  EXPECT_EQ(field_of([](v1::ClipTensor& t) { t.set_height(0xFFFFFFFF); }), "tensor");
  EXPECT_EQ(field_of([](v1::ClipTensor& t) { t.set_width(0); }), "tensor");
  EXPECT_EQ(field_of([](v1::ClipTensor& t) { t.mutable_values()->pop_back(); }), "tensor.values");
}

TEST_F(FromProtoTest, OverridesChangeTheRulesParameters) {
  const auto request = ReadSpec(
      "model: \"models/windows\" sampling { frame_count: 2 start_offset { seconds: 3 } end_offset "
      "{ seconds: 9 nanos: 500000000 } window { seconds: 2 } window_stride { seconds: 1 } }");
  ASSERT_TRUE(request.ok()) << request.status();
  const SamplingSpec& sampling = request->frame_spec.sampling;
  EXPECT_EQ(sampling.rule, SamplingRule::kWindow);
  EXPECT_EQ(sampling.frames, 2);
  EXPECT_EQ(sampling.start_seconds, 3);
  EXPECT_EQ(sampling.end_seconds, 9.5);
  EXPECT_EQ(sampling.window_seconds, 2);
  EXPECT_EQ(sampling.stride_seconds, 1);
  EXPECT_TRUE(request->answer.windows);
}

TEST_F(FromProtoTest, AskedWindowsAreGivenForShortClipsToo) {
  const auto request =
      ReadSpec("model: \"models/windows\" sampling { window_stride { nanos: 250000000 } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->frame_spec.sampling.window_seconds, 1);        // the model's own
  EXPECT_EQ(request->frame_spec.sampling.single_up_to_seconds, 1);  // no longer 2
  const auto own = ReadSpec("model: \"models/windows\"");
  EXPECT_EQ(own->frame_spec.sampling.single_up_to_seconds, 2);
  EXPECT_FALSE(own->answer.windows);
}

TEST_F(FromProtoTest, ASampleRateIsTheWindowsLength) {
  const auto request = ReadSpec(
      "model: \"models/windows\" sampling { sample_rate_hz: 8 window_stride { seconds: 1 } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->frame_spec.sampling.window_seconds, 0.25);  // 2 frames at 8 Hz
}

TEST_F(FromProtoTest, AnswerOptionsAreTaken) {
  const auto request =
      ReadSpec("allow_partial: true classify { top_k: 3 min_score: 0.25 include_logits: true }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->allow_partial);
  EXPECT_EQ(request->answer.top_k, 3);
  EXPECT_EQ(request->answer.min_score, 0.25f);
  EXPECT_TRUE(request->answer.include_logits);
}

}  // namespace
}  // namespace scanline
