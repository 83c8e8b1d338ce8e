#include "bench/engine/errors.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "tests/model/double_model.h"
#include "tests/model/generator.h"
#include "tests/model/reference.h"
#include "tests/model/stored_model.h"

namespace scanline::bench {
namespace {

struct Sums {
  double difference = 0;
  double got = 0;
  double want = 0;
  double product = 0;
};

Error Compare(const std::string& model, const std::vector<float>& got,
              const std::vector<double>& want) {
  Sums sums;
  for (size_t i = 0; i < want.size(); ++i) {
    sums.difference += (got[i] - want[i]) * (got[i] - want[i]);
    sums.got += double{got[i]} * got[i];
    sums.want += want[i] * want[i];
    sums.product += got[i] * want[i];
  }
  return {.model = model,
          .rel_l2 = std::sqrt(sums.difference / sums.want),
          .rel_max = testing::RelMax(got, want),
          .cosine = sums.product / std::sqrt(sums.got * sums.want),
          .same_top1 = std::max_element(got.begin(), got.end()) - got.begin() ==
                       std::max_element(want.begin(), want.end()) - want.begin()};
}

std::vector<double> HeadInDouble(const Weights& weights, const std::vector<double>& pooled) {
  const Tensor& weight = weights.Get("head.weight");
  std::vector<double> logits;
  for (int64_t row = 0; row < weight.shape[0]; ++row) {
    double sum = weights.Data("head.bias")[row];
    for (size_t i = 0; i < pooled.size(); ++i) {
      sum += double{weight.data[row * pooled.size() + i]} * pooled[i];
    }
    logits.push_back(sum);
  }
  return logits;
}

absl::StatusOr<Error> OfStored(const std::string& name, const ForwardOf& forward) {
  const testing::SafetensorsFile file = testing::ReadReference(name);
  const Weights weights = testing::WeightsUnder(file, "model.");
  ModelConfig model;
  model.backbone = testing::StoredConfig(file, weights);
  model.classify.labels.resize(static_cast<size_t>(weights.Get("head.bias").size()));
  const std::vector<float> input = testing::Floats(file.at("input"));
  const std::vector<float> video(
      input.begin(),
      input.begin() + static_cast<ptrdiff_t>(input.size() / file.at("input").shape[0]));
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<float> got, forward(model, weights, video.data()));
  return Compare(name, got,
                 HeadInDouble(weights, testing::DoubleModel(model.backbone, weights).Run(video)));
}

absl::StatusOr<Error> OfReal(const std::string& name, const ForwardOf& forward) {
  const testing::SafetensorsFile file = testing::ReadReference(name);
  const ModelConfig model = testing::RealConfig(file);
  const BackboneConfig& config = model.backbone;
  const uint64_t seed = testing::RealSeed(file);
  const Weights weights = testing::GenerateWeights(model, seed);
  const auto video =
      testing::Generate("input", {1, 3, config.frames, config.size, config.size}, seed);
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<float> got, forward(model, weights, video.data()));
  return Compare(name, got, file.at("logits_fp64").values<double>());
}

}  // namespace

absl::StatusOr<std::vector<Error>> MeasureErrors(const ForwardOf& forward) {
  std::vector<Error> errors;
  for (const std::string& name : testing::StoredModels()) {
    SCANLINE_ASSIGN_OR_RETURN(errors.emplace_back(), OfStored(name, forward));
  }
  for (const std::string& name : testing::ReferenceNames({"model_", "real_"})) {
    if (!absl::StartsWith(name, "real_")) continue;
    SCANLINE_ASSIGN_OR_RETURN(errors.emplace_back(), OfReal(name, forward));
  }
  return errors;
}

}  // namespace scanline::bench
