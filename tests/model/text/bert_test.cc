// The text side of the multimodal model against the official code's values, and the promise that a
// text's bits do not depend on its company.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/team.h"
#include "model/tensor_ops.h"
#include "model/text/bert_layers.h"
#include "model/text/linear.h"
#include "model/text/text_encoder.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 2e-5;  // rel-max, as the vectors' README suggests

// The weights under the names that a bundle has: without the MLM wrapper's `bert.`.
Weights TextWeights(const SafetensorsFile& file) {
  Weights weights;
  for (const auto& [name, tensor] : file.tensors) {
    constexpr char kModel[] = "model.";
    constexpr char kWrapper[] = "text_encoder.bert.";
    if (name.rfind(kModel, 0) != 0) continue;
    std::string plain = name.substr(sizeof kModel - 1);
    if (plain.rfind(kWrapper, 0) == 0) plain = "text_encoder." + plain.substr(sizeof kWrapper - 1);
    weights.Add(plain, tensor.shape, Floats(tensor));
  }
  return weights;
}

// Sizes as the weights have them. Ids become texts by a vocabulary of made-up words.
ModelConfig ConfigOf(const Weights& weights, int heads, int vision_width) {
  const auto rows = [&](const std::string& name) {
    return static_cast<int>(weights.Get(name).shape[0]);
  };
  ModelConfig config;
  config.backbone.embed_dim = vision_width;
  config.embed = EmbedConfig{.dim = rows("text_proj.bias")};
  TextTowerConfig tower{
      .type = TextTowerType::kBert,
      .dim = rows("text_encoder.embeddings.LayerNorm.weight"),
      .depth = 1,
      .fusion_depth = 1,
      .heads = heads,
      .intermediate = rows("text_encoder.encoder.layer.0.intermediate.dense.bias"),
      .max_length = rows("text_encoder.embeddings.position_embeddings.weight"),
      .official_cleanup = false};
  const int words = rows("text_encoder.embeddings.word_embeddings.weight");
  tower.vocab = {"[UNK]", "[CLS]", "[SEP]"};
  for (int id = 3; id < words; ++id) tower.vocab.push_back("w" + std::to_string(id));
  config.text_tower = tower;
  return config;
}

std::string TextOf(const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text += "w" + std::to_string(id) + " ";
  return text;
}

std::vector<EncodedText> Encode(TextEncoder& encoder, absl::Span<const std::string> texts) {
  auto encoded = encoder.Encode(texts, /*keep_hidden=*/true, Cancel());
  if (!encoded.ok()) throw std::runtime_error(encoded.status().ToString());
  return *std::move(encoded);
}

class Vectors : public ::testing::TestWithParam<std::string> {
 protected:
  Vectors()
      : file_(ReadReference(GetParam())),
        weights_(TextWeights(file_)),
        config_(ConfigOf(weights_, 4, static_cast<int>(file_.at("vision_embeds").shape[2]))) {
    const auto ids = file_.at("input_ids").values<int64_t>();
    const auto mask = file_.at("attention_mask").values<int64_t>();
    const auto padded = static_cast<size_t>(file_.at("input_ids").shape[1]);
    for (size_t at = 0; at < ids.size(); at += padded) {
      size_t tokens = 0;
      while (tokens < padded && mask[at + tokens] == 1) ++tokens;
      if (ids[at] != 1 || ids[at + tokens - 1] != 2)
        throw std::runtime_error("not [CLS] ... [SEP]");
      texts_.push_back(TextOf(Part(ids, at + 1, tokens - 2)));
      tokens_.push_back(tokens);
    }
  }

  // Rows of text `i` in the stored tensor [texts][padded][width] or [texts][width], without the
  // padding.
  std::vector<float> Stored(const std::string& name, size_t i) const {
    const StoredTensor& tensor = file_.at(name);
    const auto row = static_cast<size_t>(tensor.shape.back());
    const size_t each = static_cast<size_t>(tensor.size()) / texts_.size();
    return Part(Floats(tensor), i * each, each == row ? row : row * tokens_[i]);
  }

  // The patch tokens of a video, [count][width].
  std::vector<float> Vision(size_t video) const {
    const StoredTensor& vision = file_.at("vision_embeds");
    const auto each = static_cast<size_t>(vision.shape[1] * vision.shape[2]);
    return Part(Floats(vision), video * each, each);
  }
  int VisionCount() const { return static_cast<int>(file_.at("vision_embeds").shape[1]); }

  SafetensorsFile file_;
  Weights weights_;
  ModelConfig config_;
  std::vector<std::string> texts_;
  std::vector<size_t> tokens_;
};

TEST_P(Vectors, TextsMatchTheOfficialCode) {
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    auto encoder = TextEncoder::Create(config_, weights_, *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    const Linear text_proj(weights_, {"text_proj"});
    const auto encoded = Encode(**encoder, texts_);
    for (size_t i = 0; i < texts_.size(); ++i) {
      const EncodedText& text = encoded[i];
      ASSERT_EQ(static_cast<size_t>(text.embedding.tokens), tokens_[i]);
      EXPECT_LE(RelMax(text.hidden, Stored("text_embeds", i)), kTolerance);
      const auto cls = Part(text.hidden, 0, static_cast<size_t>(config_.text_tower->dim));
      EXPECT_LE(RelMax(cls, Stored("text_pooled", i)), kTolerance);
      std::vector<float> projected(text.embedding.values.size());
      text_proj.Run(*kernels, {.x = cls.data(), .count = 1, .out = projected.data()});
      EXPECT_LE(RelMax(projected, Stored("text_proj", i)), kTolerance);
      EXPECT_LE(RelMax(text.embedding.values, Stored("text_proj_norm", i)), kTolerance);
    }
  }
}

TEST_P(Vectors, FusionLayersMatchTheOfficialCode) {
  for (const Kernels* kernels : KernelsHere()) {
    BertLayers layers(*config_.text_tower, weights_, *kernels, 1, 1, /*cross_attention=*/true);
    layers.SetVideo(Vision(0).data(), VisionCount(), config_.backbone.embed_dim);
    for (size_t i = 0; i < texts_.size(); ++i) {
      const auto hidden = Stored("text_embeds", i);
      const auto tokens = static_cast<int>(tokens_[i]);
      std::copy(hidden.begin(), hidden.end(), layers.Rows(tokens));
      const float* rows = layers.Run({0, tokens});
      EXPECT_LE(
          RelMax(std::vector<float>(rows, rows + hidden.size()), Stored("fusion_hidden_video0", i)),
          kTolerance)
          << kernels->name;
    }
  }
}

TEST_P(Vectors, MatchLogitsAreTheOfficialOnes) {
  const auto logits = Floats(file_.at("itm_logits_video_by_text"));  // [videos][texts][2]
  std::vector<float> want;
  for (size_t i = 1; i < logits.size(); i += 2) want.push_back(logits[i]);
  for (const Kernels* kernels : KernelsHere()) {
    auto encoder = TextEncoder::Create(config_, weights_, *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    const auto encoded = Encode(**encoder, texts_);
    std::vector<FusionText> texts;
    for (const EncodedText& text : encoded) {
      texts.push_back({text.hidden.data(), text.embedding.tokens});
    }
    const auto scorer = FusionScorer::Create(config_, weights_, *kernels);
    std::vector<float> got;
    for (size_t video = 0; video < want.size() / texts.size(); ++video) {
      const auto scores = scorer->Score(texts, Vision(video).data(), VisionCount());
      got.insert(got.end(), scores.begin(), scores.end());
    }
    EXPECT_LE(RelMax(got, want), kTolerance) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Multimodal, Vectors, ::testing::ValuesIn(ReferenceNames({"mm_"})),
                         [](const auto& info) { return info.param; });

// Sizes that fill no panel, tile or vector, and heads wide enough for the fast kernels.
struct Made {
  Weights weights;
  ModelConfig config;
};

Made MakeModel() {
  constexpr int kDim = 80;
  constexpr int kWide = 200;
  constexpr int kVision = 40;
  std::vector<TensorSpec> specs = {
      {"text_encoder.embeddings.word_embeddings.weight", {500, kDim}},
      {"text_encoder.embeddings.position_embeddings.weight", {64, kDim}},
      {"text_encoder.embeddings.token_type_embeddings.weight", {2, kDim}},
      {"text_encoder.embeddings.LayerNorm.weight", {kDim}},
      {"text_encoder.embeddings.LayerNorm.bias", {kDim}}};
  const auto linear = [&](const std::string& name, int rows, int columns) {
    specs.push_back({name + ".weight", {rows, columns}});
    specs.push_back({name + ".bias", {rows}});
  };
  const auto norm = [&](const std::string& name) {
    specs.push_back({name + ".weight", {kDim}});
    specs.push_back({name + ".bias", {kDim}});
  };
  for (const std::string layer : {"0.", "1."}) {
    const std::string name = "text_encoder.encoder.layer." + layer;
    for (const std::string part : {"attention", "crossattention"}) {
      if (layer == "0." && part == "crossattention") continue;
      linear(name + part + ".self.query", kDim, kDim);
      for (const char* map : {".self.key", ".self.value"}) {
        linear(name + part + map, kDim, part == "attention" ? kDim : kVision);
      }
      linear(name + part + ".output.dense", kDim, kDim);
      norm(name + part + ".output.LayerNorm");
    }
    linear(name + "intermediate.dense", kWide, kDim);
    linear(name + "output.dense", kDim, kWide);
    norm(name + "output.LayerNorm");
  }
  linear("text_proj", 24, kDim);
  linear("itm_head", 2, kDim);
  Made made;
  for (const TensorSpec& spec : specs) {
    made.weights.Add(spec.name, spec.shape, Generate(spec.name, spec.shape, /*seed=*/7));
  }
  made.config = ConfigOf(made.weights, /*heads=*/5, kVision);
  return made;
}

// Lengths of 1 to 62 words: together far more rows than go through the layers at once.
std::vector<std::string> MakeTexts() {
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    std::vector<int64_t> ids;
    for (int t = 0; t < 1 + i * 37 % 62; ++t) ids.push_back(3 + (i * 131 + t * 17) % 497);
    texts.push_back(TextOf(ids));
  }
  return texts;
}

TEST(BertTower, ATextHasTheSameBitsInAnyCompanyAndWithAnyThreads) {
  const Made made = MakeModel();
  const std::vector<std::string> texts = MakeTexts();
  const std::vector<std::string> reversed(texts.rbegin(), texts.rend());
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    auto encoder = TextEncoder::Create(made.config, made.weights, *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    Team team(2);
    UseTeam(&team);
    const auto together = Encode(**encoder, texts);
    const auto backwards = Encode(**encoder, reversed);
    UseTeam(nullptr);
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto alone = Encode(**encoder, {&texts[i], 1});
      EXPECT_EQ(alone[0].hidden, together[i].hidden) << i;
      EXPECT_EQ(alone[0].embedding.values, together[i].embedding.values) << i;
      EXPECT_EQ(alone[0].hidden, backwards[texts.size() - 1 - i].hidden) << i;
    }
  }
}

TEST(FusionScorer, ATextHasTheSameBitsInAnyCompany) {
  const Made made = MakeModel();
  const std::vector<std::string> texts = MakeTexts();
  const std::vector<float> video = Generate("input", {29, 40}, /*seed=*/9);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    auto encoder = TextEncoder::Create(made.config, made.weights, *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    const auto encoded = Encode(**encoder, texts);
    std::vector<FusionText> all;
    for (const EncodedText& text : encoded) {
      all.push_back({text.hidden.data(), text.embedding.tokens});
    }
    const auto scorer = FusionScorer::Create(made.config, made.weights, *kernels);
    const std::vector<float> together = scorer->Score(all, video.data(), 29);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(scorer->Score(all[i].hidden, all[i].tokens, video.data(), 29), together[i]) << i;
    }
  }
}

TEST(BertTower, NamesTheTextThatItCannotRead) {
  Made made = MakeModel();
  made.config.text_tower->official_cleanup = true;
  auto encoder = TextEncoder::Create(made.config, made.weights);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {{"w5 \xFF", "UTF-8"}, {"", "nothing"}, {" ?! ", "nothing"}};
  for (const auto& wrong : kCases) {
    const std::vector<std::string> texts = {"w4", "w5", wrong.text};
    const auto encoded = (*encoder)->Encode(texts, false, Cancel());
    EXPECT_EQ(ReasonOf(encoded.status()), Reason::kFieldInvalid) << wrong.text;
    EXPECT_THAT(std::string(encoded.status().message()), HasSubstr("texts[2]"));
    EXPECT_THAT(std::string(encoded.status().message()), HasSubstr(wrong.message));
  }
}

TEST(BertTower, CutsLongTextsAndSaysSo) {
  const Made made = MakeModel();
  auto encoder = TextEncoder::Create(made.config, made.weights);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  std::string text;
  for (int i = 0; i < 63; ++i) text += "w7 ";
  const auto encoded = Encode(**encoder, {&text, 1});
  EXPECT_TRUE(encoded[0].embedding.truncated);
  EXPECT_EQ(encoded[0].embedding.tokens, 64);
}

TEST(BertTower, StopsWhenNobodyWaits) {
  const Made made = MakeModel();
  auto encoder = TextEncoder::Create(made.config, made.weights);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const Cancel cancel;
  cancel.RequestCancel();
  const std::string text = "w7";
  EXPECT_EQ(ReasonOf((*encoder)->Encode({&text, 1}, false, cancel).status()), Reason::kCancelled);
}

}  // namespace
}  // namespace scanline::testing
