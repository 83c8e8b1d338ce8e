#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/kernels/ops.h"
#include "tests/model/cuda/device_memory.h"

namespace scanline::cuda::testing {

// A scan with made inputs, and what the specification says of it.
struct ScanCase {
  Element type = Element::kFloat32;
  int batch = 1;
  int length = 1;
  int inner = 32;
  int state = 16;
  ScanPlan plan;
  bool first_token_init = false;
  bool mask_backward = false;
  bool cumulative = false;
  bool raw = false;     // u is the left half of rows twice as wide
  bool shared = false;  // both directions read the forward one's u, dt, B and C
  uint64_t seed = 1;    // of the numbers
};

class ScanProblem {
 public:
  explicit ScanProblem(const ScanCase& given) : case_(given) {
    const size_t rows = static_cast<size_t>(given.batch) * given.length;
    const size_t inner = given.inner;
    const size_t width = given.raw ? 2 * inner : inner;
    for (int way = 0; way < 2; ++way) {
      const uint64_t seed = given.seed * 100 + way * 10;
      Way& made = ways_[way];
      made.u = std::make_unique<Activations>(given.type, Numbers(rows * width, seed, -1, 1));
      std::vector<float> dt = Numbers(rows * inner, seed + 1, 0, 1);
      for (float& value : dt) value = value * value * value * 2;  // mostly small, some not
      made.dt = std::make_unique<Activations>(given.type, dt);
      made.bc = std::make_unique<Device<float>>(Numbers(rows * 2 * given.state, seed + 2, -1, 1));
      std::vector<float> a = Numbers(inner * given.state, seed + 3, 0.5F, 1.5F);
      for (size_t i = 0; i < a.size(); ++i) a[i] *= -static_cast<float>(i % given.state + 1);
      made.a = std::make_unique<Device<float>>(a);
      made.d = std::make_unique<Device<float>>(Numbers(inner, seed + 4, -1, 1));
      made.y = std::make_unique<Activations>(given.type, rows * inner);
    }
    workspace_ = std::make_unique<Device<float>>(
        ScanWorkspaceBytes(given.plan, given.batch, given.inner, given.state) / sizeof(float));
  }

  Scan op() {
    Scan op{.type = case_.type,
            .batch = case_.batch,
            .length = case_.length,
            .inner = case_.inner,
            .state = case_.state,
            .u_stride = case_.raw ? 2 * case_.inner : case_.inner,
            .plan = case_.plan,
            .first_token_init = case_.first_token_init,
            .mask_backward = case_.mask_backward,
            .cumulative = case_.cumulative};
    for (int way = 0; way < 2; ++way) {
      Way& read = Inputs(way);
      (way == 0 ? op.forward : op.backward) = {.u = read.u->get(),
                                               .dt = read.dt->get(),
                                               .bc = read.bc->get(),
                                               .a = ways_[way].a->get(),
                                               .d = read.d->get(),
                                               .y = ways_[way].y->get()};
    }
    op.workspace = workspace_->get();
    return op;
  }

  // Runs the kernels; what is wrong with the answer, or empty.
  std::string Run() {
    const Scan scan = op();
    if (LaunchScan(scan, nullptr) != 0) return "refused";
    return Check();
  }

  std::string Check() {
    for (int way = 0; way < 2; ++way) {
      const std::vector<double> want = Expected(way);
      const std::string wrong =
          FirstDifference(ways_[way].y->values(), want, 2 * Rounding(case_.type), SumError(want));
      if (!wrong.empty()) return (way == 0 ? "forward " : "backward ") + wrong;
    }
    return "";
  }

  // Of sequence `index`, both directions.
  std::vector<uint8_t> Bits(int index) {
    std::vector<uint8_t> bits;
    for (const Way& way : ways_) {
      const std::vector<uint8_t> all = way.y->bytes();
      const auto share = static_cast<ptrdiff_t>(all.size()) / case_.batch;
      bits.insert(bits.end(), all.begin() + index * share, all.begin() + (index + 1) * share);
    }
    return bits;
  }

 private:
  struct Way {
    std::unique_ptr<Activations> u, dt, y;
    std::unique_ptr<Device<float>> bc, a, d;
  };

  Way& Inputs(int way) { return ways_[case_.shared ? 0 : way]; }

  std::vector<double> Expected(int way) {
    Way& read = Inputs(way);
    const std::vector<double> u = read.u->doubles();
    const std::vector<double> dt = read.dt->doubles();
    const std::vector<double> bc = Doubles(read.bc->values());
    const std::vector<double> a = Doubles(ways_[way].a->values());
    const std::vector<double> d = Doubles(read.d->values());
    std::vector<double> y(dt.size());
    const ptrdiff_t width = case_.raw ? 2 * case_.inner : case_.inner;
    for (int sequence = 0; sequence < case_.batch; ++sequence) {
      const ptrdiff_t row = ptrdiff_t{sequence} * case_.length;
      SelectiveScan<double> op{.length = case_.length,
                               .dim = case_.inner,
                               .state = case_.state,
                               .u = u.data() + row * width,
                               .u_stride = width,
                               .delta = dt.data() + row * case_.inner,
                               .delta_stride = case_.inner,
                               .a = a.data(),
                               .b = bc.data() + row * 2 * case_.state,
                               .c = bc.data() + row * 2 * case_.state + case_.state,
                               .bc_stride = ptrdiff_t{2} * case_.state,
                               .d = d.data(),
                               .y = y.data() + row * case_.inner,
                               .y_stride = case_.inner};
      op.softplus = false;
      op.reverse = way == 1;
      op.first_token_init = case_.first_token_init;
      op.mask = way == 1 && case_.mask_backward;
      op.cumulative = case_.cumulative;
      SelectiveScanReference(op);
    }
    return y;
  }

  ScanCase case_;
  Way ways_[2];
  std::unique_ptr<Device<float>> workspace_;
};

}  // namespace scanline::cuda::testing
