// Packed linear layers, fp32 and bf16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "model/kernels/kernels.h"
#include "model/weights.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

constexpr float kNobodys = -77;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A matrix in rows or in blocks of 16 columns, with memory between and around its elements that
// belongs to nobody.
struct Matrix {
  static constexpr ptrdiff_t kAround = 64;

  ptrdiff_t stride, block;
  std::vector<float> memory;

  Matrix(int rows, int columns, bool blocked, float nobodys)
      : stride(blocked ? 16 : columns + 3),
        block(blocked ? 16 * (rows + 1) : 16),
        memory((columns / 16 + 1) * block + (rows + 1) * stride + 2 * kAround, nobodys) {}

  float* data() { return memory.data() + kAround; }
  float& At(int row, int column) {
    return data()[column / 16 * block + row * stride + column % 16];
  }
};

struct Shape {
  int inner, columns;
};

// The panels' edges, the tiles' edges, and the shapes of VideoMamba: in_proj (few of its columns),
// x_proj, dt_proj and out_proj of tiny and middle.
constexpr Shape kShapes[] = {{1, 1},    {8, 32},   {12, 384}, {15, 8},   {16, 16},
                             {17, 9},   {36, 40},  {40, 2},   {65, 97},  {192, 64},
                             {384, 44}, {769, 64}, {576, 33}, {1152, 68}};

struct Problem {
  int rows, inner, columns;
  std::vector<float> x, weight, bias;
  std::vector<float> packed;
  std::vector<uint16_t> packed_bf16;

  Problem(int rows_in, Shape shape)
      : rows(rows_in),
        inner(shape.inner),
        columns(shape.columns),
        x(Generate("input", {rows, inner}, 1)),
        weight(Generate("w.weight", {columns, inner}, 2)),
        bias(Generate("b.bias", {columns}, 3)) {
    Pack();
  }

  void Pack() {
    const size_t padded = static_cast<size_t>(PanelCount(columns)) * kPanel;
    packed.resize(padded * inner);
    packed_bf16.resize(padded * ((inner + 1) / 2) * 2);
    std::vector<const float*> each;
    for (ptrdiff_t c = 0; c < columns; ++c) each.push_back(weight.data() + c * inner);
    PackLinear(each.data(), columns, inner, packed.data());
    PackLinearBf16(each.data(), columns, inner, packed_bf16.data());
  }

  // What lies around x is NaN: reading it shows.
  Matrix X(bool blocked) const {
    Matrix m(rows, inner, blocked, kNan);
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < inner; ++k) m.At(r, k) = x[r * inner + k];
    }
    return m;
  }

  PackedLinear Op(Matrix& in, Matrix& out) const {
    return {.rows = rows,
            .inner = inner,
            .columns = columns,
            .x = in.data(),
            .x_stride = in.stride,
            .x_block = in.block,
            .weight = packed.data(),
            .bias = bias.empty() ? nullptr : bias.data(),
            .out = out.data(),
            .out_stride = out.stride,
            .out_block = out.block,
            .panel_end = PanelCount(columns)};
  }

  double Sum(int row, int column, double (*term)(float, float)) const {
    double sum = 0;
    for (int k = 0; k < inner; ++k) sum += term(x[row * inner + k], weight[column * inner + k]);
    return sum;
  }
};

void RunBf16(const Kernels& kernels, const Problem& problem, PackedLinear shape) {
  const size_t floats = Bf16ScratchSize(shape.rows, shape.inner) / 2;
  const AlignedFloats scratch = AllocateFloats(floats + 16);
  std::fill(scratch.get(), scratch.get() + floats, kNan);
  std::fill(scratch.get() + floats, scratch.get() + floats + 16, kNobodys);
  shape.weight = nullptr;
  kernels.packed_linear_bf16({.shape = shape,
                              .weight = problem.packed_bf16.data(),
                              .scratch = reinterpret_cast<uint16_t*>(scratch.get())});
  for (int i = 0; i < 16; ++i) ASSERT_EQ(scratch.get()[floats + i], kNobodys);
}

std::vector<const Kernels*> Bf16KernelsHere() {
  std::vector<const Kernels*> here = KernelsHere();
  here.erase(std::remove_if(here.begin(), here.end(),
                            [](const Kernels* k) { return k->packed_linear_bf16 == nullptr; }),
             here.end());
  return here;
}

double Product(float x, float w) { return double{x} * w; }
double Size(float x, float w) { return std::abs(double{x} * w); }

// The nearest number of 8 significant bits, ties to even.
float Rounded(float value) {
  int exponent = 0;
  const double fraction = std::frexp(double{value}, &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(fraction * 256) / 256, exponent));
}

Problem RoundedInputs(Problem problem) {
  for (float& v : problem.x) v = Rounded(v);
  for (float& v : problem.weight) v = Rounded(v);
  return problem;
}

TEST(PackedLinear, ReferenceMatchesDouble) {
  for (const Shape shape : kShapes) {
    const Problem problem(3, shape);
    Matrix in = problem.X(false);
    Matrix out(3, shape.columns, true, kNobodys);
    PackedLinearReference(problem.Op(in, out));
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < shape.columns; ++c) {
        const double want = problem.Sum(r, c, Product) + problem.bias[c];
        const double most = problem.Sum(r, c, Size) + std::abs(problem.bias[c]);
        ASSERT_NEAR(out.At(r, c), want, (shape.inner + 1) * 0x1p-24 * most);
      }
    }
  }
}

// Every element, and all of the memory round them.
void ExpectTheReferencesBits(const Problem& problem, bool in_blocks, bool out_blocks) {
  Matrix in = problem.X(in_blocks);
  Matrix want(problem.rows, problem.columns, out_blocks, kNobodys);
  PackedLinearReference(problem.Op(in, want));
  for (const Kernels* kernels : KernelsHere()) {
    Matrix got(problem.rows, problem.columns, out_blocks, kNobodys);
    kernels->packed_linear(problem.Op(in, got));
    ASSERT_EQ(got.memory, want.memory)
        << kernels->name << " " << problem.rows << " " << problem.inner << " " << problem.columns
        << " " << in_blocks << out_blocks;
  }
}

// Rows around every edge of a tile, both matrices in both layouts.
TEST(PackedLinear, EveryKernelHasTheReferencesBitsAndWritesNothingElse) {
  for (const int rows : {1, 2, 5, 6, 7, 12, 13, 14, 27, 64}) {
    for (const Shape shape : kShapes) {
      Problem problem(rows, shape);
      if (rows % 2 == 1) problem.bias.clear();
      for (const bool in_blocks : {false, true}) {
        for (const bool out_blocks : {false, true}) {
          ASSERT_NO_FATAL_FAILURE(ExpectTheReferencesBits(problem, in_blocks, out_blocks));
        }
      }
    }
  }
}

// Rows beside a tile's edges in long products, and every odd number of them in short ones, with
// sides that are multiples of 16 and some that are not.
struct RowShape {
  int rows;
  Shape shape;
};

std::vector<RowShape> OddRows() {
  constexpr Shape kSides[] = {{16, 16}, {48, 80}, {33, 31}, {12, 112}, {144, 17}};
  std::vector<RowShape> shapes;
  for (int rows = 1; rows < 64; rows += 2) {
    for (const Shape side : kSides) shapes.push_back({rows, side});
  }
  for (const int rows : {65, 127, 129, 197, 513, 1023}) shapes.push_back({rows, {48, 80}});
  shapes.push_back({1569, {192, 44}});
  shapes.push_back({4099, {16, 48}});
  shapes.push_back({4099, {33, 31}});
  return shapes;
}

TEST(PackedLinear, EveryKernelHasTheReferencesBitsAtAnyOddNumberOfRows) {
  for (const auto& [rows, shape] : OddRows()) {
    const Problem problem(rows, shape);
    ASSERT_NO_FATAL_FAILURE(ExpectTheReferencesBits(problem, rows % 4 == 1, rows % 8 < 4));
  }
}

TEST(PackedLinear, PanelsCanBeSharedOut) {
  for (const Shape shape : {Shape{12, 384}, Shape{384, 44}, Shape{65, 97}}) {
    const Problem problem(64, shape);
    Matrix in = problem.X(true);
    for (const Kernels* kernels : KernelsHere()) {
      Matrix whole(64, shape.columns, true, kNobodys);
      kernels->packed_linear(problem.Op(in, whole));
      Matrix parts(64, shape.columns, true, kNobodys);
      PackedLinear op = problem.Op(in, parts);
      for (int panel = PanelCount(shape.columns) - 1; panel >= 0; --panel) {
        op.panel_begin = panel;
        op.panel_end = panel + 1;
        kernels->packed_linear(op);
        for (int c = 0; c < panel * kPanel; ++c) ASSERT_EQ(parts.At(63, c), kNobodys);
      }
      EXPECT_EQ(parts.memory, whole.memory) << kernels->name << " " << shape.columns;
    }
  }
}

TEST(PackedLinear, GeluIsRightFarFromZeroToo) {
  for (const Kernels* kernels : KernelsHere()) {
    for (double x = -12; x <= 12; x += 0.01) {
      const auto value = static_cast<float>(x);
      std::vector<float> weight(kPanel);
      PackLinear(std::vector<const float*>{&value}.data(), 1, 1, weight.data());
      const float one = 1;
      float out = 0;
      kernels->packed_linear({.rows = 1,
                              .inner = 1,
                              .columns = 1,
                              .x = &one,
                              .x_stride = 1,
                              .weight = weight.data(),
                              .out = &out,
                              .out_stride = 1,
                              .gelu = true,
                              .panel_end = 1});
      const double want = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
      EXPECT_NEAR(out, want, 5e-7 * std::max(1.0, std::abs(want))) << kernels->name << " " << x;
    }
  }
}

TEST(PackedLinear, GeluOfEveryElementAndOfNothingElse) {
  for (const Shape shape : {Shape{65, 97}, Shape{384, 44}, Shape{16, 16}}) {
    const Problem problem(14, shape);
    Matrix in = problem.X(false);
    for (const bool blocks : {false, true}) {
      for (const Kernels* kernels : KernelsHere()) {
        Matrix got(14, shape.columns, blocks, kNobodys);
        PackedLinear op = problem.Op(in, got);
        op.gelu = true;
        kernels->packed_linear(op);
        Matrix want(14, shape.columns, blocks, kNobodys);
        for (int r = 0; r < 14; ++r) {
          for (int c = 0; c < shape.columns; ++c) {
            const double sum = problem.Sum(r, c, Product) + problem.bias[c];
            const double gelu = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
            ASSERT_NEAR(got.At(r, c), gelu, 4e-6) << kernels->name << " " << r << " " << c;
            want.At(r, c) = got.At(r, c);
          }
        }
        EXPECT_EQ(got.memory, want.memory) << kernels->name;
      }
    }
  }
}

// A chain of fp32 additions over exact products: at most a rounding for each. Elements of every
// `stride`th column are compared, and nothing else may be written.
void ExpectWithinTheBoundOfRounded(const Problem& problem, int layout, int stride) {
  const Problem rounded = RoundedInputs(problem);
  const int rows = problem.rows, columns = problem.columns;
  Matrix in = problem.X(layout % 2 == 1);
  for (const Kernels* kernels : Bf16KernelsHere()) {
    SCOPED_TRACE(::testing::Message() << kernels->name << " " << rows << " " << problem.inner << " "
                                      << columns << " " << layout);
    Matrix got(rows, columns, layout / 2 == 1, kNobodys);
    RunBf16(*kernels, problem, problem.Op(in, got));
    Matrix nothing(rows, columns, layout / 2 == 1, kNobodys);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; c += stride) {
        const double bias = problem.bias.empty() ? 0 : problem.bias[c];
        const double want = rounded.Sum(r, c, Product) + bias;
        const double most = rounded.Sum(r, c, Size) + std::abs(bias);
        ASSERT_NEAR(got.At(r, c), want, (problem.inner + 2) * 0x1p-24 * most);
      }
      for (int c = 0; c < columns; ++c) nothing.At(r, c) = got.At(r, c);
    }
    ASSERT_EQ(got.memory, nothing.memory);
  }
}

TEST(PackedLinearBf16, EveryKernelIsWithinTheBoundOfRoundedInputs) {
  for (const int rows : {1, 6, 13, 27, 64}) {
    for (const Shape shape : kShapes) {
      Problem problem(rows, shape);
      if (rows % 2 == 1) problem.bias.clear();
      for (const int layout : {0, 1, 2, 3}) {
        ASSERT_NO_FATAL_FAILURE(
            ExpectWithinTheBoundOfRounded(problem, layout, layout == 0 ? 1 : 7));
      }
    }
  }
}

TEST(PackedLinearBf16, EveryKernelIsWithinItAtAnyOddNumberOfRows) {
  for (const auto& [rows, shape] : OddRows()) {
    ASSERT_NO_FATAL_FAILURE(
        ExpectWithinTheBoundOfRounded(Problem(rows, shape), rows / 2 % 4, rows < 64 ? 1 : 7));
  }
}

TEST(PackedLinearBf16, RowsHaveTheSameBitsAloneAndPanelsToo) {
  for (const Shape shape : kShapes) {
    const Problem problem(27, shape);
    Matrix in = problem.X(true);
    for (const Kernels* kernels : Bf16KernelsHere()) {
      Matrix together(27, shape.columns, false, kNobodys);
      RunBf16(*kernels, problem, problem.Op(in, together));
      Matrix alone(27, shape.columns, false, kNobodys);
      PackedLinear op = problem.Op(in, alone);
      op.rows = 1;
      for (int r = 0; r < 27; ++r, op.x += op.x_stride, op.out += op.out_stride) {
        for (int panel = 0; panel < PanelCount(shape.columns); ++panel) {
          op.panel_begin = panel;
          op.panel_end = panel + 1;
          RunBf16(*kernels, problem, op);
        }
      }
      EXPECT_EQ(alone.memory, together.memory)
          << kernels->name << " " << shape.inner << " " << shape.columns;
    }
  }
}

TEST(PackedLinearBf16, RoundsTiesToEven) {
  const std::pair<float, float> pairs[] = {
      {1 + 0x1p-8F, 1},   {1 + 3 * 0x1p-8F, 1 + 0x1p-6F}, {1 + 0x1.1p-8F, 1 + 0x1p-7F},
      {-1 - 0x1p-8F, -1}, {0x1.fep127F, 0x1.fep127F},     {0x1.ff8p3F, 0x1p4F},
      {1 + 0x0.fp-8F, 1}, {0x1p-126F, 0x1p-126F},         {-0x1.03p5F, -0x1.04p5F}};
  for (const auto& [value, want] : pairs) {
    for (const bool in_x : {true, false}) {
      Problem problem(1, {1, 1});
      problem.bias.clear();
      problem.x = {in_x ? value : 1};
      problem.weight = {in_x ? 1 : value};
      problem.Pack();
      Matrix in = problem.X(false);
      for (const Kernels* kernels : Bf16KernelsHere()) {
        Matrix out(1, 1, false, kNobodys);
        RunBf16(*kernels, problem, problem.Op(in, out));
        EXPECT_EQ(out.At(0, 0), want) << kernels->name << " " << value << " " << in_x;
      }
    }
  }
}

TEST(PackedLinear, NanAndInfinityStayInTheirRow) {
  Problem problem(14, {40, 33});
  problem.x[3 * 40 + 39] = kNan;
  problem.x[5 * 40] = std::numeric_limits<float>::infinity();
  Matrix in = problem.X(true);
  const auto expect = [](Matrix& out, const std::string& name) {
    for (int r = 0; r < 14; ++r) {
      for (int c = 0; c < 33; ++c) {
        EXPECT_EQ(std::isnan(out.At(r, c)), r == 3) << name << " " << r << " " << c;
        EXPECT_EQ(std::isinf(out.At(r, c)), r == 5) << name << " " << r << " " << c;
      }
    }
  };
  for (const Kernels* kernels : KernelsHere()) {
    Matrix out(14, 33, true, kNobodys);
    kernels->packed_linear(problem.Op(in, out));
    expect(out, kernels->name);
  }
  for (const Kernels* kernels : Bf16KernelsHere()) {
    Matrix out(14, 33, true, kNobodys);
    RunBf16(*kernels, problem, problem.Op(in, out));
    expect(out, std::string(kernels->name) + " bf16");
  }
}

}  // namespace
}  // namespace scanline::testing
