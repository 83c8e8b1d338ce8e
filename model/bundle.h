#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config.h"

namespace scanline {

class Weights;  // model/weights.h: named fp32 tensors

// A model folder, read and checked once, then shared read-only by every worker.
class ModelBundle {
 public:
  // Reads config.json, labels and weights of `dir`. Any unknown key, missing, left-over or
  // mis-shaped tensor, non-finite weight or label count that differs from the head is
  // BUNDLE_INVALID, and the message names it.
  static absl::StatusOr<std::shared_ptr<const ModelBundle>> Load(absl::string_view dir);

  ~ModelBundle();

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return *weights_; }
  // What similarities are divided by before the softmax over texts; 0: the model takes no texts.
  float temperature() const;
  const std::string& weights_sha256() const { return weights_sha256_; }  // hex

 private:
  ModelBundle() = default;

  ModelConfig config_;
  std::unique_ptr<Weights> weights_;
  std::string weights_sha256_;
};

}  // namespace scanline
