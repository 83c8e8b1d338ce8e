#include "model/text/gated_conv_tower.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/text/known_words.h"
#include "model/text/linear.h"

namespace scanline {
namespace {

constexpr float kEps = 1e-5f;

float Silu(float x) { return x / (1.0f + std::exp(-x)); }

class GatedConvTower : public TextEncoder {
 public:
  GatedConvTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels)
      : config_(*config.text_tower),
        weights_(weights),
        kernels_(kernels),
        words_(config_.vocab, config_.removed_characters, config_.max_words),
        text_proj_(weights, {"text_proj"}) {
    for (int i = 0; i < config_.depth; ++i) {
      const std::string name = absl::StrCat("text_encoder.layers.", i, ".");
      layers_.push_back({.norm = weights.Data(name + "norm.weight"),
                         .in_proj = Linear(weights, {name + "in_proj"}),
                         .taps = weights.Data(name + "conv1d.weight"),
                         .bias = weights.Data(name + "conv1d.bias"),
                         .out_proj = Linear(weights, {name + "out_proj"})});
    }
  }

  absl::StatusOr<std::vector<EncodedText>> Encode(absl::Span<const std::string> texts,
                                                  bool /*keep_hidden*/,
                                                  const Cancel& cancel) override {
    std::vector<EncodedText> results;
    results.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      SCANLINE_RETURN_IF_ERROR(cancel.Check(Reason::kExpiredInInference));
      SCANLINE_ASSIGN_OR_RETURN(const CodePoints codes, DecodeText(texts[i], i));
      Tokens tokens = words_.Read(codes);
      if (tokens.ids.empty()) {
        return TextError(i, "expected at least one word that the model knows, found none");
      }
      std::vector<float> values = Run(tokens.ids);
      SCANLINE_RETURN_IF_ERROR(Normalize(i, absl::MakeSpan(values)));
      results.push_back({.embedding = {.values = std::move(values),
                                       .unknown_words = std::move(tokens.unknown_words),
                                       .truncated = tokens.truncated,
                                       .tokens = static_cast<int>(tokens.ids.size())}});
    }
    return results;
  }

 private:
  struct Layer {
    const float* norm;
    Linear in_proj;  // [x | z], twice the width each
    const float* taps;
    const float* bias;
    Linear out_proj;
  };

  std::vector<float> Run(const std::vector<int>& ids) const {
    const auto dim = static_cast<size_t>(config_.dim);
    const float* words = weights_.Data("text_encoder.word_embeddings.weight");
    const float* positions = weights_.Data("text_encoder.position_embeddings");
    std::vector<float> hidden(ids.size() * dim);
    for (size_t t = 0; t < ids.size(); ++t) {
      const float* word = words + static_cast<size_t>(ids[t]) * dim;
      for (size_t d = 0; d < dim; ++d) hidden[t * dim + d] = word[d] + positions[t * dim + d];
    }
    for (const Layer& layer : layers_) RunLayer(layer, static_cast<int>(ids.size()), &hidden);
    return Project(hidden, ids.size());
  }

  void RunLayer(const Layer& layer, int words, std::vector<float>* hidden) const {
    const size_t inner = 2 * static_cast<size_t>(config_.dim);
    std::vector<float> normed(hidden->size());
    std::vector<float> xz(words * 2 * inner);
    std::vector<float> gated(words * inner);
    std::vector<float> change(hidden->size());
    kernels_.add_norm({.rows = words,
                       .dim = config_.dim,
                       .x = hidden->data(),
                       .weight = layer.norm,
                       .eps = kEps,
                       .residual_out = hidden->data(),
                       .out = normed.data()});
    layer.in_proj.Run(
        kernels_, {.x = normed.data(), .x_stride = config_.dim, .count = words, .out = xz.data()});
    for (int t = 0; t < words; ++t) {
      for (size_t d = 0; d < inner; ++d) {
        gated[t * inner + d] = Silu(Convolve(layer, xz, words, t, d)) *
                               Silu(xz[(2 * static_cast<size_t>(t) + 1) * inner + d]);
      }
    }
    layer.out_proj.Run(kernels_, {.x = gated.data(),
                                  .x_stride = static_cast<ptrdiff_t>(inner),
                                  .count = words,
                                  .out = change.data()});
    for (size_t i = 0; i < hidden->size(); ++i) (*hidden)[i] += change[i];
  }

  // The convolution of channel d around word t.
  float Convolve(const Layer& layer, const std::vector<float>& xz, int words, int t,
                 size_t d) const {
    const size_t stride = 4 * static_cast<size_t>(config_.dim);
    float sum = layer.bias[d];
    for (int k = 0; k < config_.kernel; ++k) {
      const int from = t + k - config_.kernel / 2;
      if (from < 0 || from >= words) continue;
      sum += layer.taps[d * config_.kernel + k] * xz[from * stride + d];
    }
    return sum;
  }

  std::vector<float> Project(const std::vector<float>& hidden, size_t words) const {
    const auto dim = static_cast<size_t>(config_.dim);
    std::vector<float> mean(dim);
    for (size_t d = 0; d < dim; ++d) {
      double sum = 0;
      for (size_t t = 0; t < words; ++t) sum += hidden[t * dim + d];
      mean[d] = static_cast<float>(sum / static_cast<double>(words));
    }
    std::vector<float> values(static_cast<size_t>(text_proj_.columns()));
    text_proj_.Run(kernels_,
                   {.x = mean.data(), .x_stride = config_.dim, .count = 1, .out = values.data()});
    return values;
  }

  const TextTowerConfig& config_;
  const Weights& weights_;
  const Kernels& kernels_;
  KnownWords words_;
  std::vector<Layer> layers_;
  Linear text_proj_;
};

}  // namespace

std::unique_ptr<TextEncoder> MakeGatedConvTower(const ModelConfig& config, const Weights& weights,
                                                const Kernels& kernels) {
  return std::make_unique<GatedConvTower>(config, weights, kernels);
}

}  // namespace scanline
