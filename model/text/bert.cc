#include "model/text/bert.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/tensor_ops.h"
#include "model/text/bert_layers.h"
#include "model/text/caption_cleanup.h"
#include "model/text/linear.h"
#include "model/text/word_piece.h"

namespace scanline {
namespace {

// Texts go through the layers together up to so many rows: enough to make weights that stream from
// memory worth it, few enough for the caches. A longer text goes alone.
constexpr int kRows = 256;

// [begin, end) of the items that fit into kRows, at least one; rows_of(i): the rows of item i.
template <typename RowsOf>
size_t EndOfChunk(size_t begin, size_t count, const RowsOf& rows_of) {
  int rows = rows_of(begin);
  size_t end = begin + 1;
  while (end < count && rows + rows_of(end) <= kRows) rows += rows_of(end++);
  return end;
}

class BertTower : public TextEncoder {
 public:
  BertTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
            WordPiece word_piece)
      : config_(*config.text_tower),
        weights_(weights),
        kernels_(kernels),
        word_piece_(std::move(word_piece)),
        layers_(config_, weights, kernels, 0, config_.depth, /*cross_attention=*/false),
        text_proj_(weights, {"text_proj"}) {}

  absl::StatusOr<std::vector<EncodedText>> Encode(absl::Span<const std::string> texts,
                                                  bool keep_hidden, const Cancel& cancel) override {
    std::vector<Tokens> tokens;
    tokens.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      SCANLINE_ASSIGN_OR_RETURN(tokens.emplace_back(), Read(texts[i], i));
    }
    std::vector<EncodedText> results(texts.size());
    const auto rows_of = [&](size_t i) { return static_cast<int>(tokens[i].ids.size()); };
    for (size_t begin = 0; begin < texts.size();) {
      SCANLINE_RETURN_IF_ERROR(cancel.Check(Reason::kExpiredInInference));
      const size_t end = EndOfChunk(begin, texts.size(), rows_of);
      const absl::Span<EncodedText> part = absl::MakeSpan(results).subspan(begin, end - begin);
      RunTexts(absl::MakeSpan(tokens).subspan(begin, end - begin), keep_hidden, part);
      for (size_t i = begin; i < end; ++i) {
        SCANLINE_RETURN_IF_ERROR(Normalize(i, absl::MakeSpan(results[i].embedding.values)));
      }
      begin = end;
    }
    return results;
  }

 private:
  absl::StatusOr<Tokens> Read(const std::string& text, size_t index) const {
    SCANLINE_ASSIGN_OR_RETURN(CodePoints codes, DecodeText(text, index));
    if (config_.official_cleanup) codes = CleanUpCaption(codes);
    Tokens tokens = word_piece_.Tokenize(codes);
    constexpr size_t kFrame = 2;  // [CLS] and [SEP]
    if (tokens.ids.size() <= kFrame) {
      return TextError(index, "expected something to read, found nothing after the clean-up");
    }
    return tokens;
  }

  void RunTexts(absl::Span<Tokens> texts, bool keep_hidden, absl::Span<EncodedText> results) {
    const auto dim = static_cast<ptrdiff_t>(config_.dim);
    std::vector<int> starts = {0};
    for (const Tokens& text : texts) {
      starts.push_back(starts.back() + static_cast<int>(text.ids.size()));
    }
    Embed(texts, layers_.Rows(starts.back()));
    const float* hidden = layers_.Run(starts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const float* rows = hidden + starts[i] * dim;
      TextEmbedding& embedding = results[i].embedding;
      embedding.tokens = starts[i + 1] - starts[i];
      embedding.truncated = texts[i].truncated;
      embedding.unknown_words = std::move(texts[i].unknown_words);
      embedding.values.resize(static_cast<size_t>(text_proj_.columns()));
      text_proj_.Run(kernels_,
                     {.x = rows, .x_stride = dim, .count = 1, .out = embedding.values.data()});
      if (keep_hidden) results[i].hidden.assign(rows, rows + embedding.tokens * dim);
    }
  }

  // rows = LayerNorm((word + token type 0) + position).
  void Embed(absl::Span<const Tokens> texts, float* rows) const {
    const std::string name = "text_encoder.embeddings.";
    const auto dim = static_cast<size_t>(config_.dim);
    const float* words = weights_.Data(name + "word_embeddings.weight");
    const float* types = weights_.Data(name + "token_type_embeddings.weight");
    const float* positions = weights_.Data(name + "position_embeddings.weight");
    float* row = rows;
    for (const Tokens& text : texts) {
      for (size_t t = 0; t < text.ids.size(); ++t, row += dim) {
        const float* word = words + static_cast<size_t>(text.ids[t]) * dim;
        const float* position = positions + t * dim;
        for (size_t d = 0; d < dim; ++d) row[d] = (word[d] + types[d]) + position[d];
      }
    }
    kernels_.add_norm({.rows = static_cast<int>((row - rows) / static_cast<ptrdiff_t>(dim)),
                       .dim = config_.dim,
                       .x = rows,
                       .weight = weights_.Data(name + "LayerNorm.weight"),
                       .bias = weights_.Data(name + "LayerNorm.bias"),
                       .eps = BertLayers::kEps,
                       .layer_norm = true,
                       .residual_out = rows,
                       .out = rows});
  }

  const TextTowerConfig& config_;
  const Weights& weights_;
  const Kernels& kernels_;
  WordPiece word_piece_;
  BertLayers layers_;
  Linear text_proj_;
};

class BertFusion : public FusionScorer {
 public:
  BertFusion(const ModelConfig& config, const Weights& weights, const Kernels& kernels)
      : dim_(config.text_tower->dim),
        width_(config.backbone.embed_dim),
        kernels_(kernels),
        layers_(*config.text_tower, weights, kernels, config.text_tower->depth,
                config.text_tower->fusion_depth, /*cross_attention=*/true),
        itm_head_(weights, {"itm_head"}) {}

  std::vector<float> Score(absl::Span<const FusionText> texts, const float* vision,
                           int count) override {
    layers_.SetVideo(vision, count, width_);
    std::vector<float> scores;
    scores.reserve(texts.size());
    const auto rows_of = [&](size_t i) { return texts[i].tokens; };
    for (size_t begin = 0; begin < texts.size();) {
      const size_t end = EndOfChunk(begin, texts.size(), rows_of);
      RunTexts(texts.subspan(begin, end - begin), &scores);
      begin = end;
    }
    return scores;
  }

 private:
  void RunTexts(absl::Span<const FusionText> texts, std::vector<float>* scores) {
    const auto dim = static_cast<ptrdiff_t>(dim_);
    std::vector<int> starts = {0};
    for (const FusionText& text : texts) starts.push_back(starts.back() + text.tokens);
    float* rows = layers_.Rows(starts.back());
    for (const FusionText& text : texts) rows = std::copy_n(text.hidden, text.tokens * dim, rows);
    const float* hidden = layers_.Run(starts);
    for (size_t i = 0; i < texts.size(); ++i) {
      std::array<float, 2> logits{};
      itm_head_.Run(
          kernels_,
          {.x = hidden + starts[i] * dim, .x_stride = dim, .count = 1, .out = logits.data()});
      scores->push_back(logits[1]);
    }
  }

  int dim_;
  int width_;
  const Kernels& kernels_;
  BertLayers layers_;
  Linear itm_head_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TextEncoder>> MakeBertTower(const ModelConfig& config,
                                                           const Weights& weights,
                                                           const Kernels& kernels) {
  const TextTowerConfig& tower = *config.text_tower;
  SCANLINE_ASSIGN_OR_RETURN(
      WordPiece word_piece,
      WordPiece::Create(tower.vocab,
                        {.max_length = tower.max_length, .special_tokens = tower.special_tokens}));
  return std::make_unique<BertTower>(config, weights, kernels, std::move(word_piece));
}

std::unique_ptr<FusionScorer> MakeBertFusion(const ModelConfig& config, const Weights& weights,
                                             const Kernels& kernels) {
  return std::make_unique<BertFusion>(config, weights, kernels);
}

}  // namespace scanline
