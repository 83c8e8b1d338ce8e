// Patches, embedding, norm and gate.
#include <gtest/gtest.h>

#include "model/kernels/ops.h"
#include "tests/model/cuda/device_memory.h"

namespace scanline::cuda::testing {
namespace {

constexpr Element kTypes[] = {Element::kFloat32, Element::kBfloat16};

std::vector<uint8_t> Bytes(size_t count) {
  const std::vector<float> numbers = Numbers(count, 5, 0, 256);
  return {numbers.begin(), numbers.end()};
}

// What row, channel, frame, y and x of a patch should be, written as docs/models.md says it.
std::vector<double> PatchRows(const GatherPatches& op, const std::vector<uint8_t>& pictures,
                              const std::vector<int>& areas) {
  std::vector<double> rows;
  for (int sequence = 0; sequence < op.batch; ++sequence) {
    for (int step = 0; step < op.frames / op.tubelet; ++step) {
      for (int top = 0; top < op.height; top += op.patch) {
        for (int left = 0; left < op.width; left += op.patch) {
          for (int channel = 0; channel < 3; ++channel) {
            for (int frame = step * op.tubelet; frame < (step + 1) * op.tubelet; ++frame) {
              for (int y = top; y < top + op.patch; ++y) {
                for (int x = left; x < left + op.patch; ++x) {
                  const bool shown =
                      areas.empty() || (x < areas[2 * sequence] && y < areas[2 * sequence + 1]);
                  const size_t pixel =
                      ((static_cast<size_t>(sequence) * op.frames + frame) * op.height + y) *
                          op.width +
                      x;
                  rows.push_back(shown ? pictures[3 * pixel + channel] - double{op.centre[channel]}
                                       : double{op.padding[channel]});
                }
              }
            }
          }
        }
      }
    }
  }
  return rows;
}

TEST(GatherPatches, AreExactInEitherType) {
  for (const Element type : kTypes) {
    for (const int patch : {2, 5, 16}) {
      for (const bool padded : {false, true}) {
        GatherPatches op{.type = type,
                         .batch = 2,
                         .frames = 4,
                         .height = 2 * patch,
                         .width = 3 * patch,
                         .patch = patch,
                         .tubelet = 2,
                         .centre = {124, 116, 104},
                         .padding = {0.5F, -0.25F, 0.125F}};
        const auto pictures = Bytes(size_t{2} * 4 * op.height * op.width * 3);
        const std::vector<int> areas =
            padded ? std::vector<int>{op.width - 1, patch, patch, op.height - 1}
                   : std::vector<int>();
        Device<uint8_t> bytes(pictures);
        Device<int> limits(areas);
        const auto want = PatchRows(op, pictures, areas);
        Activations rows(type, want.size());
        op.pictures = bytes.get();
        op.areas = padded ? limits.get() : nullptr;
        op.rows = rows.get();
        ASSERT_EQ(LaunchGatherPatches(op, nullptr), 0);
        EXPECT_EQ(FirstDifference(rows.values(), want, 0, 0), "") << patch;
      }
    }
  }
}

TEST(Embed, PutsPatchesInTheOrderOfTheFirstLayer) {
  constexpr int kBatch = 2;
  constexpr int kSteps = 3;
  constexpr int kCells = 5;
  constexpr int kDim = 20;
  constexpr int kPatches = kSteps * kCells;
  const auto patches = Numbers(size_t{kBatch} * kPatches * kDim, 1, -1, 1);
  const auto bias = Numbers(kDim, 2, -1, 1);
  const auto cls = Numbers(kDim, 3, -1, 1);
  const auto space = Numbers(size_t{1 + kCells} * kDim, 4, -1, 1);
  const auto time = Numbers(size_t{kSteps} * kDim, 5, -1, 1);
  Device<float> patches_there(patches), bias_there(bias), cls_there(cls), space_there(space),
      time_there(time);
  for (const bool temporal_first : {false, true}) {
    for (const bool timed : {false, true}) {
      Device<float> residual(size_t{kBatch} * (1 + kPatches) * kDim);
      ASSERT_EQ(LaunchEmbed({.batch = kBatch,
                             .steps = kSteps,
                             .cells = kCells,
                             .dim = kDim,
                             .temporal_first = temporal_first,
                             .patches = patches_there.get(),
                             .bias = bias_there.get(),
                             .cls = cls_there.get(),
                             .space = space_there.get(),
                             .time = timed ? time_there.get() : nullptr,
                             .residual = residual.get()},
                            nullptr),
                0);
      std::vector<double> want(residual.size());
      for (int sequence = 0; sequence < kBatch; ++sequence) {
        const int first = sequence * (1 + kPatches);
        for (int i = 0; i < kDim; ++i) want[first * kDim + i] = double{cls[i]} + space[i];
        for (int step = 0; step < kSteps; ++step) {
          for (int cell = 0; cell < kCells; ++cell) {
            const int row = 1 + (temporal_first ? cell * kSteps + step : step * kCells + cell);
            for (int i = 0; i < kDim; ++i) {
              want[(first + row) * kDim + i] =
                  double{patches[((sequence * kSteps + step) * kCells + cell) * kDim + i]} +
                  bias[i] + space[(1 + cell) * kDim + i] + (timed ? time[step * kDim + i] : 0);
            }
          }
        }
      }
      EXPECT_EQ(FirstDifference(residual.values(), want, 0, 1e-6), "");
    }
  }
}

struct NormCase {
  Element type = Element::kFloat32;
  int batch = 2;
  int length = 5;
  int rows = 5;
  int dim = 192;
  bool layer_norm = false;
  bool adds = true;
  bool moves = false;
};

void ExpectNorm(const NormCase& given) {
  const auto count = static_cast<size_t>(given.batch) * given.length * given.dim;
  const auto residual = Numbers(count, 1, -3, 5);
  const auto x = Numbers(count, 2, -1, 1);
  const auto weight = Numbers(given.dim, 3, -1, 1);
  const auto bias = Numbers(given.dim, 4, -1, 1);
  std::vector<int> from(given.rows);
  for (int i = 0; i < given.rows; ++i) from[i] = given.moves ? (i * 3 + 1) % given.length : i;
  std::vector<double> before;
  std::vector<double> added;
  for (int sequence = 0; sequence < given.batch; ++sequence) {
    for (const int row : from) {
      const size_t at = (static_cast<size_t>(sequence) * given.length + row) * given.dim;
      before.insert(before.end(), residual.begin() + at, residual.begin() + at + given.dim);
      added.insert(added.end(), x.begin() + at, x.begin() + at + given.dim);
    }
  }
  if (!given.adds) std::fill(added.begin(), added.end(), 0.0);
  const std::vector<double> weights = Doubles(weight);
  const std::vector<double> biases = Doubles(bias);
  std::vector<double> sums(before.size());
  std::vector<double> normed(before.size());
  AddNormReference<double>({.rows = given.batch * given.rows,
                            .dim = given.dim,
                            .x = added.data(),
                            .residual = before.data(),
                            .weight = weights.data(),
                            .bias = given.layer_norm ? biases.data() : nullptr,
                            .eps = 1e-5,
                            .layer_norm = given.layer_norm,
                            .residual_out = sums.data(),
                            .out = normed.data()});

  Device<float> residual_there(residual), x_there(x), weight_there(weight), bias_there(bias);
  Device<float> sums_there(before.size());
  Device<int> from_there(from);
  Activations out(given.type, before.size());
  simt::SetOptions({.seed = static_cast<uint64_t>(given.dim)});
  ASSERT_EQ(LaunchAddNorm({.out_type = given.type,
                           .batch = given.batch,
                           .length = given.length,
                           .rows = given.rows,
                           .dim = given.dim,
                           .layer_norm = given.layer_norm,
                           .residual = residual_there.get(),
                           .x = given.adds ? x_there.get() : nullptr,
                           .from = given.moves ? from_there.get() : nullptr,
                           .weight = weight_there.get(),
                           .bias = given.layer_norm ? bias_there.get() : nullptr,
                           .residual_out = sums_there.get(),
                           .out = out.get()},
                          nullptr),
            0);
  EXPECT_EQ(FirstDifference(sums_there.values(), sums, 1e-7, 0), "") << given.dim;
  EXPECT_EQ(FirstDifference(out.values(), normed, 2 * Rounding(given.type), 2e-6), "") << given.dim;
}

TEST(AddNorm, MatchesTheReferenceForEveryWidth) {
  for (const Element type : kTypes) {
    for (const bool layer_norm : {false, true}) {
      for (const int dim : {4, 8, 100, 128, 192, 384, 388, 576, 768, 1024}) {
        ExpectNorm({.type = type, .dim = dim, .layer_norm = layer_norm});
      }
    }
  }
}

TEST(AddNorm, TakesSomeRowsOrOthersInAnyOrder) {
  for (const bool layer_norm : {false, true}) {
    ExpectNorm({.length = 7, .rows = 1, .layer_norm = layer_norm});
    ExpectNorm({.length = 7, .rows = 7, .layer_norm = layer_norm, .adds = false});
    ExpectNorm({.batch = 3, .length = 7, .rows = 7, .layer_norm = layer_norm, .moves = true});
    ExpectNorm({.length = 7, .rows = 3, .layer_norm = layer_norm, .moves = true});
  }
}

TEST(AddNorm, AddsInPlaceAndWithoutAWeight) {
  constexpr int kDim = 96;
  const auto residual = Numbers(size_t{3} * kDim, 1, -3, 5);
  const auto x = Numbers(size_t{3} * kDim, 2, -1, 1);
  const std::vector<double> before = Doubles(residual);
  const std::vector<double> added = Doubles(x);
  const std::vector<double> ones(kDim, 1.0);
  std::vector<double> sums(before.size());
  std::vector<double> normed(before.size());
  AddNormReference<double>({.rows = 3,
                            .dim = kDim,
                            .x = added.data(),
                            .residual = before.data(),
                            .weight = ones.data(),
                            .eps = 1e-5,
                            .residual_out = sums.data(),
                            .out = normed.data()});
  Device<float> there(residual), x_there(x), out(before.size());
  AddNorm op{.out_type = Element::kFloat32,
             .batch = 1,
             .length = 3,
             .rows = 3,
             .dim = kDim,
             .residual = there.get(),
             .x = x_there.get(),
             .residual_out = there.get(),
             .out = out.get()};
  ASSERT_EQ(LaunchAddNorm(op, nullptr), 0);
  EXPECT_EQ(FirstDifference(there.values(), sums, 1e-7, 0), "");
  EXPECT_EQ(FirstDifference(out.values(), normed, 1e-6, 2e-6), "");
  op.rows = 2;  // The rows would no longer stand where they were.
  EXPECT_EQ(LaunchAddNorm(op, nullptr), cudaErrorInvalidValue);
}

TEST(Gate, MultipliesTheSumOfBothDirections) {
  for (const Element type : kTypes) {
    for (const bool gated : {false, true}) {
      constexpr int kRows = 13;
      constexpr int kInner = 48;
      Activations forward(type, Numbers(size_t{kRows} * kInner, 1, -2, 2));
      Activations backward(type, Numbers(size_t{kRows} * kInner, 2, -2, 2));
      Activations xz(type, Numbers(size_t{kRows} * 2 * kInner, 3, -9, 9));
      const auto z = xz.doubles();
      std::vector<double> want = forward.doubles();
      const std::vector<double> other = backward.doubles();
      for (size_t i = 0; i < want.size(); ++i) {
        const double gate = z[i / kInner * 2 * kInner + kInner + i % kInner];
        want[i] += other[i];
        if (gated) want[i] *= gate / (1 + std::exp(-gate));
      }
      ASSERT_EQ(LaunchGate(
                    {.type = type,
                     .rows = kRows,
                     .inner = kInner,
                     .forward = forward.get(),
                     .backward = backward.get(),
                     .z = gated ? static_cast<uint8_t*>(xz.get()) + kInner * SizeOf(type) : nullptr,
                     .z_stride = gated ? 2 * kInner : 0,
                     .out = forward.get()},
                    nullptr),
                0);
      EXPECT_EQ(FirstDifference(forward.values(), want, 4 * Rounding(type), 2e-6), "");
    }
  }
}

}  // namespace
}  // namespace scanline::cuda::testing
