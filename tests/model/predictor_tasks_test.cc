// What a predictor answers for each set of tasks, of clips and of texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "model/backbone.h"
#include "model/heads.h"
#include "model/match.h"
#include "model/patches.h"
#include "model/predictor.h"
#include "model/text/text_encoder.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/multimodal.h"
#include "tests/model/noise_clip.h"

namespace scanline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const ModelBundle> Load(const std::string& dir) {
  auto bundle = ModelBundle::Load(dir);
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  return *bundle;
}

std::unique_ptr<Predictor> Create(const std::shared_ptr<const ModelBundle>& bundle,
                                  const std::string& kernel = "auto") {
  auto predictor = Predictor::Create(bundle, {.kernel = kernel});
  if (!predictor.ok()) throw std::runtime_error(predictor.status().ToString());
  return *std::move(predictor);
}

constexpr TaskSet kEmbed = {.classify = false, .embed = true};
constexpr TaskSet kMatch = {.classify = false, .match = true};
constexpr TaskSet kRerank = {.classify = false, .match = true, .rerank = true};

class Tagger : public ::testing::Test {
 protected:
  absl::StatusOr<Prediction> Run(const Clip* clip, TaskSet tasks,
                                 const std::vector<std::string>* texts = nullptr) {
    const PredictItem item{clip, &cancel_, tasks, texts};
    return predictor_->Predict({&item, 1})[0];
  }

  Cancel cancel_;
  std::shared_ptr<const ModelBundle> bundle_ = Load(SCANLINE_SOURCE_DIR "/assets/models/tagger24");
  std::unique_ptr<Predictor> predictor_ = Create(bundle_);
  std::vector<std::string> texts_ = {"the camera pans left", "a static shot"};
};

TEST_F(Tagger, AnswersWhatIsAskedAndNothingElse) {
  const Clip clip = NoiseClip(bundle_->config(), 16, 2, 1);
  const auto classes = Run(&clip, {});
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT(classes->logits, SizeIs(2));
  EXPECT_THAT(classes->embeddings, IsEmpty());
  EXPECT_THAT(classes->texts, IsEmpty());

  const auto embedded = Run(&clip, kEmbed);
  ASSERT_TRUE(embedded.ok()) << embedded.status();
  EXPECT_THAT(embedded->logits, IsEmpty());
  EXPECT_THAT(embedded->embeddings, SizeIs(2));
  EXPECT_THAT(embedded->embeddings[0], SizeIs(64));
  EXPECT_THAT(embedded->raw_embeddings, SizeIs(2));

  const auto matched = Run(&clip, kMatch, &texts_);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_EQ(matched->embeddings, embedded->embeddings);
  EXPECT_THAT(matched->texts, SizeIs(2));
  EXPECT_THAT(matched->match_logits, IsEmpty());

  const auto texts = Run(nullptr, kEmbed, &texts_);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(texts->embeddings, IsEmpty());
  EXPECT_EQ(texts->tokens, 0);
  EXPECT_EQ(texts->texts[1].values, matched->texts[1].values);
}

TEST_F(Tagger, AScoredEmbeddingIsTheUnitVectorOfTheRawOne) {
  const Clip clip = NoiseClip(bundle_->config(), 16, 1, 3);
  const auto result = Run(&clip, kEmbed);
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<double> unit(result->raw_embeddings[0].begin(), result->raw_embeddings[0].end());
  const double length = std::sqrt(std::inner_product(unit.begin(), unit.end(), unit.begin(), 0.0));
  EXPECT_GT(std::abs(length - 1), 1e-3);
  for (double& value : unit) value /= length;
  EXPECT_LE(MaxDifference(result->embeddings[0], unit), 1e-7);
}

TEST_F(Tagger, EveryAnswerHasTheSameBitsAloneAndWithOtherTasksAndItems) {
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    predictor_ = Create(bundle_, kernels->name);
    const Clip clip = NoiseClip(bundle_->config(), 20, 2, 7);
    const Clip other = NoiseClip(bundle_->config(), 16, 1, 8);
    const auto classes = Run(&clip, {});
    const auto embedded = Run(&clip, kEmbed);
    const auto text = Run(nullptr, {}, &texts_);
    ASSERT_TRUE(classes.ok() && embedded.ok() && text.ok());
    const std::vector<std::string> many = {"a hard cut", texts_[1], "the shot zooms in", texts_[0]};
    const TaskSet all = {.classify = true, .embed = true, .match = true};
    const PredictItem items[] = {{&other, &cancel_, all, &texts_},
                                 {nullptr, &cancel_, {}, &many},
                                 {&clip, &cancel_, all, &many},
                                 {&other, &cancel_, {}, nullptr}};
    const auto results = predictor_->Predict(items);
    for (const auto& result : results) ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(results[2]->logits, classes->logits);
    EXPECT_EQ(results[2]->embeddings, embedded->embeddings);
    EXPECT_EQ(results[2]->raw_embeddings, embedded->raw_embeddings);
    EXPECT_EQ(results[2]->texts[3].values, text->texts[0].values);
    EXPECT_EQ(results[1]->texts[1].values, text->texts[1].values);
    EXPECT_EQ(results[0]->texts[0].values, text->texts[0].values);
  }
}

TEST_F(Tagger, RefusesWhatTheBundleLacks) {
  const Clip clip = NoiseClip(bundle_->config(), 16, 1, 1);
  const auto rerank = Run(&clip, kRerank, &texts_);
  EXPECT_EQ(ReasonOf(rerank.status()), Reason::kTaskUnsupported);
  EXPECT_THAT(rerank.status().message(), HasSubstr("tagger24 has no fusion layers"));

  SmallBundle small;
  bundle_ = Load(small.Write());
  predictor_ = Create(bundle_);
  const Clip tiny = NoiseClip(bundle_->config(), 2, 1, 1);
  EXPECT_EQ(ReasonOf(Run(&tiny, kEmbed).status()), Reason::kTaskUnsupported);
  EXPECT_THAT(Run(nullptr, {}, &texts_).status().message(), HasSubstr("small has no text tower"));
}

TEST_F(Tagger, AnUnreadableTextIsAnErrorOfItsItemAlone) {
  const std::vector<std::string> bad = {"a static shot", "qwertyuiop"};
  const PredictItem items[] = {{nullptr, &cancel_, {}, &bad}, {nullptr, &cancel_, {}, &texts_}};
  const auto results = predictor_->Predict(items);
  EXPECT_EQ(ReasonOf(results[0].status()), Reason::kFieldInvalid);
  EXPECT_THAT(results[0].status().message(), HasSubstr("texts[1]"));
  EXPECT_TRUE(results[1].ok()) << results[1].status();
}

TEST_F(Tagger, StopsBetweenTexts) {
  const std::vector<std::string> endless(300'000, "a static shot");
  const Cancel soon(absl::Now() + absl::Milliseconds(20));
  Cancel cancelled;
  cancelled.RequestCancel();
  const PredictItem items[] = {{nullptr, &soon, {}, &endless}, {nullptr, &cancelled, {}, &texts_}};
  const absl::Time start = absl::Now();
  const auto results = predictor_->Predict(items);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(ReasonOf(results[0].status()), Reason::kExpiredInInference);
  EXPECT_EQ(ReasonOf(results[1].status()), Reason::kCancelled);
}

// The models of the vectors as bundles, with pictures of noise.
class MultimodalBundle : public ::testing::TestWithParam<std::string> {
 protected:
  absl::StatusOr<Prediction> Run(const Clip* clip, TaskSet tasks,
                                 const std::vector<std::string>* texts = nullptr) {
    const PredictItem item{clip, &cancel_, tasks, texts};
    return predictor_->Predict({&item, 1})[0];
  }

  // `count` texts that differ.
  std::vector<std::string> Texts(size_t count) const {
    const size_t words = bundle_->config().text_tower->vocab.size() - 5;
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      texts.push_back("w" + std::to_string(5 + i % words));
      for (size_t k = 0; k < i / words + 1; ++k) {
        texts.back() += " w" + std::to_string(5 + (7 * i + k) % words);
      }
    }
    return texts;
  }

  SafetensorsFile file_ = ReadReference(GetParam());
  TempFolder folder_;
  std::shared_ptr<const ModelBundle> bundle_ = Load(WriteMultimodalBundle(file_, folder_));
  std::unique_ptr<Predictor> predictor_ = Create(bundle_);
  Cancel cancel_;
};

TEST_P(MultimodalBundle, TextsHaveTheStoredVectors) {
  std::vector<std::string> texts;
  for (size_t t = 0; t < static_cast<size_t>(file_.at("input_ids").shape[0]); ++t) {
    texts.push_back(TextOf(file_, t));
  }
  const auto result = Run(nullptr, {}, &texts);
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<float> got;
  for (size_t t = 0; t < texts.size(); ++t) {
    const TextEmbedding& text = result->texts[t];
    got.insert(got.end(), text.values.begin(), text.values.end());
    EXPECT_EQ(text.tokens, TokensOf(file_, t));
    EXPECT_FALSE(text.truncated);
    EXPECT_THAT(text.unknown_words, IsEmpty());
  }
  EXPECT_LE(RelMax(got, Floats(file_.at("text_proj_norm"))), 2e-5);
  EXPECT_FLOAT_EQ(bundle_->temperature(), 0.07f);
}

TEST_P(MultimodalBundle, VideosAndTextsMeetAsInTheReference) {
  std::vector<std::string> texts;
  for (size_t t = 0; t < static_cast<size_t>(file_.at("input_ids").shape[0]); ++t) {
    texts.push_back(TextOf(file_, t));
  }
  const size_t dim = static_cast<size_t>(bundle_->config().embed->dim);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    predictor_ = Create(bundle_, kernels->name);
    std::vector<float> similarities;
    std::vector<float> match_logits;
    for (size_t i = 0; i < static_cast<size_t>(file_.at("video_btchw").shape[0]); ++i) {
      const Clip clip = ClipOf(file_, i, bundle_->config().backbone.frames);
      const auto result = Run(&clip, kRerank, &texts);
      ASSERT_TRUE(result.ok()) << result.status();
      for (const TextMatch& match : Match(clip, *result, bundle_->temperature()).clip) {
        similarities.push_back(match.similarity);
        match_logits.push_back(match.match_logit);
      }
      const auto per_step = Floats(file_.at("vision_proj"));
      const auto steps = static_cast<size_t>(file_.at("vision_proj").shape[1]);
      std::vector<double> raw(dim);
      for (size_t k = 0; k < steps * dim; ++k) {
        raw[k % dim] += per_step[i * steps * dim + k] / static_cast<double>(steps);
      }
      EXPECT_LE(RelMax(result->raw_embeddings[0], raw), 2e-5);
    }
    EXPECT_LE(RelMax(similarities, Floats(file_.at("sim_v2t"))), 2e-5);
    EXPECT_LE(RelMax(match_logits, MatchLogits(file_)), 2e-5);
  }
}

TEST_P(MultimodalBundle, ATensorOfOneFrameIsAnImage) {
  const ModelConfig& config = bundle_->config();
  const BackboneConfig still = StillOf(config.backbone);
  EmbedHead head(still, *config.embed, bundle_->weights(), BestKernels());
  Backbone backbone(still, bundle_->weights(), BestKernels());
  for (size_t i = 0; i < static_cast<size_t>(file_.at("image_vision_pooled").shape[0]); ++i) {
    const Clip clip = ClipOf(file_, i, 1);
    const auto result = Run(&clip, kEmbed);
    ASSERT_TRUE(result.ok()) << result.status();
    PatchesFromVideo(clip.tensor.data(), still, backbone.patches());
    EXPECT_EQ(result->embeddings[0], head.Run(backbone.Run(Backbone::Rows::kAll)).scored);
    EXPECT_EQ(result->tokens, still.tokens() - 1);
  }
  Clip two = ClipOf(file_, 0, 2);
  EXPECT_EQ(ReasonOf(Run(&two, kEmbed).status()), Reason::kInternal);
}

// What the vectors judge (multimodal_test.cc) is what a clip of pictures gets, bit for bit.
TEST_P(MultimodalBundle, AClipGoesThroughTheTestedParts) {
  const ModelConfig& config = bundle_->config();
  const Clip clip = NoiseClip(config, config.backbone.frames, 1, 11);
  const std::vector<std::string> texts = Texts(3);
  const auto result = Run(&clip, kRerank, &texts);
  ASSERT_TRUE(result.ok()) << result.status();

  std::vector<const uint8_t*> pictures;
  for (int picture : clip.views[0].pictures) pictures.push_back(clip.picture(picture));
  const PixelNorm pixels{config.mean, config.std};
  Backbone backbone(config.backbone, bundle_->weights(), BestKernels(), {.pixels = pixels});
  EmbedHead head(config.backbone, *config.embed, bundle_->weights(), BestKernels());
  PatchesFromPictures(pictures, pixels, config.backbone, backbone.pixel_patches());
  const float* normed = backbone.Run(Backbone::Rows::kAll);
  const VisionEmbedding embedding = head.Run(normed);
  EXPECT_EQ(result->embeddings[0], embedding.scored);
  EXPECT_EQ(result->raw_embeddings[0], embedding.raw);
  const int patches = config.backbone.tokens() - 1;
  EXPECT_EQ(result->tokens, patches);

  const auto encoder = TextEncoder::Create(config, bundle_->weights());
  const auto fusion = FusionScorer::Create(config, bundle_->weights());
  const auto encoded = (*encoder)->Encode(texts, true, cancel_);
  ASSERT_THAT(result->match_logits, SizeIs(1));
  for (size_t t = 0; t < texts.size(); ++t) {
    EXPECT_EQ(result->texts[t].values, (*encoded)[t].embedding.values);
    EXPECT_EQ(result->match_logits[0][t],
              fusion->Score((*encoded)[t].hidden.data(), (*encoded)[t].embedding.tokens,
                            normed + config.backbone.embed_dim, patches));
  }
}

TEST_P(MultimodalBundle, AViewOfOnePictureIsAnImage) {
  const ModelConfig& config = bundle_->config();
  const BackboneConfig still = StillOf(config.backbone);
  Clip clip = NoiseClip(config, 1, 1, 5);  // Every frame of the view is the one picture.
  const std::vector<std::string> texts = Texts(1);
  const auto image = Run(&clip, kRerank, &texts);
  ASSERT_TRUE(image.ok()) << image.status();
  const std::vector<const uint8_t*> pictures = {clip.picture(0)};
  const PixelNorm pixels{config.mean, config.std};
  Backbone backbone(still, bundle_->weights(), BestKernels(), {.pixels = pixels});
  EmbedHead head(still, *config.embed, bundle_->weights(), BestKernels());
  PatchesFromPictures(pictures, pixels, still, backbone.pixel_patches());
  EXPECT_EQ(image->embeddings[0], head.Run(backbone.Run(Backbone::Rows::kAll)).scored);
  EXPECT_EQ(image->tokens, still.tokens() - 1);

  // The same picture, stored once a frame, is a video.
  Clip video = NoiseClip(config, config.backbone.frames, 1, 0);
  for (int i = 0; i < config.backbone.frames; ++i) {
    std::copy_n(clip.picture(0), clip.picture_bytes(),
                video.pixels.begin() + static_cast<ptrdiff_t>(clip.picture_bytes()) * i);
  }
  const auto moving = Run(&video, kEmbed);
  ASSERT_TRUE(moving.ok()) << moving.status();
  EXPECT_NE(moving->embeddings[0], image->embeddings[0]);
  EXPECT_EQ(moving->tokens, config.backbone.tokens() - 1);
}

bool SameBits(const Prediction& a, const Prediction& b) {
  const auto texts_alike = [](const TextEmbedding& x, const TextEmbedding& y) {
    return x.values == y.values;
  };
  return a.embeddings == b.embeddings && a.raw_embeddings == b.raw_embeddings &&
         std::equal(a.texts.begin(), a.texts.end(), b.texts.begin(), b.texts.end(), texts_alike) &&
         a.match_logits == b.match_logits && a.tokens == b.tokens;
}

// Clips, stills and texts go through the same memory one after another.
TEST_P(MultimodalBundle, AnItemHasTheSameBitsAloneAndAmongClipsStillsAndTexts) {
  const ModelConfig& config = bundle_->config();
  Clip mixed = NoiseClip(config, 9, 4, 3);
  std::fill(mixed.views[1].pictures.begin(), mixed.views[1].pictures.end(), 2);
  std::fill(mixed.views[3].pictures.begin(), mixed.views[3].pictures.end(), 5);
  const Clip moving = NoiseClip(config, 5, 2, 4);
  const Clip still = NoiseClip(config, 1, 1, 5);
  const Clip tensor = ClipOf(file_, 0, config.backbone.frames);
  const Clip still_tensor = ClipOf(file_, 0, 1);
  const std::vector<std::string> few = Texts(3);
  const std::vector<std::string> many = Texts(kRerankTexts + 3);  // Each view is seen twice.
  const std::vector<PredictItem> items = {
      {&mixed, &cancel_, kRerank, &few},  {&still, &cancel_, kEmbed},
      {&tensor, &cancel_, kMatch, &few},  {nullptr, &cancel_, {}, &many},
      {&mixed, &cancel_, kRerank, &many}, {&still_tensor, &cancel_, kRerank, &few},
      {&moving, &cancel_, kEmbed},        {&still, &cancel_, kRerank, &many},
      {&mixed, &cancel_, kEmbed},
  };
  const auto fresh = [&](const Kernels* kernels, int threads) {
    return *Predictor::Create(bundle_, {.threads = threads, .kernel = kernels->name});
  };
  for (const Kernels* kernels : KernelsHere()) {
    std::vector<Prediction> alone;
    for (const PredictItem& item : items) {
      alone.push_back(*fresh(kernels, 1)->Predict({&item, 1})[0]);
    }
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << kernels->name << " threads " << threads);
      const auto together = fresh(kernels, threads)->Predict(items);
      for (size_t i = 0; i < items.size(); ++i) {
        ASSERT_TRUE(together[i].ok()) << together[i].status();
        EXPECT_TRUE(SameBits(*together[i], alone[i])) << i;
      }
    }
  }
}

TEST_P(MultimodalBundle, OnlyTheBestTextsOfTheClipAreScored) {
  Clip clip = NoiseClip(bundle_->config(), 9, 3, 3);
  clip.windows.resize(2);
  clip.views[2].window = 1;
  const std::vector<std::string> texts = Texts(kRerankTexts + 40);
  const auto result = Run(&clip, kRerank, &texts);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->tokens, 3 * (bundle_->config().backbone.tokens() - 1));
  ASSERT_THAT(result->match_logits, SizeIs(3));
  const std::vector<size_t> best = BestTexts(clip, *result, kRerankTexts);
  ASSERT_THAT(best, SizeIs(kRerankTexts));
  std::vector<std::string> few;
  for (size_t i : best) few.push_back(texts[i]);
  const auto alone = Run(&clip, kRerank, &few);
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (size_t view = 0; view < 3; ++view) {
    std::vector<float> wanted(texts.size(), -100);
    for (size_t k = 0; k < best.size(); ++k) wanted[best[k]] = alone->match_logits[view][k];
    EXPECT_EQ(result->match_logits[view], wanted);
  }
  const TextMatches matches = Match(clip, *result, bundle_->temperature());
  const auto looked_at = std::count_if(matches.clip.begin(), matches.clip.end(),
                                       [](const TextMatch& m) { return m.match_logit > -100; });
  EXPECT_EQ(looked_at, static_cast<ptrdiff_t>(kRerankTexts));
  float worst_in = 1;
  float best_out = -1;
  for (const TextMatch& match : matches.clip) {
    if (match.match_logit > -100) worst_in = std::min(worst_in, match.similarity);
    if (match.match_logit == -100) best_out = std::max(best_out, match.similarity);
  }
  EXPECT_GE(worst_in, best_out - 1e-6f);
}

TEST_P(MultimodalBundle, NonFiniteNumbersAreAnErrorOfTheirItemAlone) {
  TempFolder folder;
  WriteMultimodalBundle(file_, folder);
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, tensor] : bundle_->weights().tensors()) {
    tensors.push_back({name, tensor.shape, {tensor.data.get(), tensor.data.get() + tensor.size()}});
    if (name == "vision_proj.weight") tensors.back().values.assign(tensor.size(), 3e38f);
  }
  folder.Write("model.safetensors", SafetensorsBytes(tensors));
  bundle_ = Load(folder.path());
  predictor_ = Create(bundle_);
  const Clip clip = NoiseClip(bundle_->config(), 4, 1, 1);
  const std::vector<std::string> texts = Texts(2);
  const PredictItem items[] = {{&clip, &cancel_, kEmbed, nullptr}, {nullptr, &cancel_, {}, &texts}};
  const auto results = predictor_->Predict(items);
  EXPECT_EQ(ReasonOf(results[0].status()), Reason::kNonFiniteOutput);
  EXPECT_THAT(results[0].status().message(), HasSubstr("embedding"));
  EXPECT_TRUE(results[1].ok()) << results[1].status();
}

TEST_P(MultimodalBundle, HasNoClasses) {
  const Clip clip = NoiseClip(bundle_->config(), 4, 1, 1);
  const auto result = Run(&clip, {.classify = true});
  EXPECT_EQ(ReasonOf(result.status()), Reason::kTaskUnsupported);
  EXPECT_THAT(result.status().message(), HasSubstr("mm has no class head"));
}

INSTANTIATE_TEST_SUITE_P(Vectors, MultimodalBundle, ::testing::ValuesIn(ReferenceNames({"mm_"})),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace scanline::testing
