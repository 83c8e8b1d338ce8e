#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/served_model.h"

// What only a device or a broken model does, for tests: a predictor that runs the real one and then
// says that it failed. It is linked into tests alone; tests/server/faults_test.cc looks that the
// shipped program has nothing of it.

namespace scanline::testing {

class FaultyPredictor final : public Predictor {
 public:
  FaultyPredictor(std::unique_ptr<Predictor> real, absl::Status fault)
      : real_(std::move(real)), fault_(std::move(fault)) {}

  std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) override {
    std::vector<absl::StatusOr<Prediction>> results = real_->Predict(items);
    if (std::exchange(first_, false)) return results;  // the warm-up
    for (auto& result : results) result = fault_;
    return results;
  }
  const ModelBundle& bundle() const override { return real_->bundle(); }

 private:
  const std::unique_ptr<Predictor> real_;
  const absl::Status fault_;
  bool first_ = true;
};

inline ModelPtr WithFault(const ServedModel& model, const absl::Status& fault) {
  auto faulty = std::make_shared<ServedModel>(model);
  faulty->make_predictor = [make = model.make_predictor,
                            fault](int worker) -> absl::StatusOr<std::unique_ptr<Predictor>> {
    auto real = make(worker);
    if (!real.ok()) return real.status();
    return std::make_unique<FaultyPredictor>(*std::move(real), fault);
  };
  return faulty;
}

}  // namespace scanline::testing
