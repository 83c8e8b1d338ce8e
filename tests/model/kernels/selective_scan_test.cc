// The official scan's vectors: against the specification over whole sequences, and against every
// kernel on tiles.
#include <gtest/gtest.h>

#include "model/kernels/kernels.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/kernels/scan_problem.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

// A scan over one sequence of the vectors, token-major.
struct Problem {
  int length = 0;
  int dim = 0;
  int state = 0;
  int groups = 1;
  std::vector<float> u, delta, a, b, c, d, bias, z;
  bool softplus = true;

  SelectiveScan<float> Op() const {
    SelectiveScan<float> op;
    op.length = length;
    op.dim = dim;
    op.state = state;
    op.groups = groups;
    op.u = u.data();
    op.delta = delta.data();
    op.a = a.data();
    op.b = b.data();
    op.c = c.data();
    op.u_stride = op.delta_stride = op.z_stride = op.y_stride = dim;
    op.bc_stride = static_cast<ptrdiff_t>(groups) * state;
    op.d = d.empty() ? nullptr : d.data();
    op.delta_bias = bias.empty() ? nullptr : bias.data();
    op.z = z.empty() ? nullptr : z.data();
    op.softplus = softplus;
    return op;
  }
};

std::vector<float> Optional(const SafetensorsFile& file, const std::string& name) {
  return file.has(name) ? Floats(file.at(name)) : std::vector<float>();
}

// Sequence `batch` of a case. The files hold [batch, dim, length] and [batch, groups, state,
// length].
Problem ReadProblem(const SafetensorsFile& file, const std::string& name, size_t batch) {
  const auto& shape = file.at(name + ".u").shape;
  const size_t dim = shape[1];
  const size_t length = shape[2];
  Problem p;
  p.dim = static_cast<int>(dim);
  p.length = static_cast<int>(length);
  p.state = static_cast<int>(file.at(name + ".A").shape[1]);
  const auto& b_shape = file.at(name + ".B").shape;
  p.groups = b_shape.size() == 4 ? static_cast<int>(b_shape[1]) : 1;
  const auto rows = [&](const char* key, size_t width) {
    return Transposed(Floats(file.at(name + key)), batch * width * length, width, length);
  };
  p.u = rows(".u", dim);
  p.delta = rows(".delta", dim);
  p.b = rows(".B", static_cast<size_t>(p.groups) * p.state);
  p.c = rows(".C", static_cast<size_t>(p.groups) * p.state);
  if (file.has(name + ".z")) p.z = rows(".z", dim);
  p.a = Floats(file.at(name + ".A"));
  p.d = Optional(file, name + ".D");
  p.bias = Optional(file, name + ".delta_bias");
  if (file.has(name + ".flags")) p.softplus = file.at(name + ".flags").values<int64_t>()[0] != 0;
  return p;
}

// The reference as it is: every case of the vectors.
ScanOutput<float> ByReference(SelectiveScan<float> op) {
  ScanOutput<float> out;
  out.y.resize(static_cast<size_t>(op.length) * static_cast<size_t>(op.dim));
  out.h.resize(static_cast<size_t>(op.dim) * static_cast<size_t>(op.state));
  op.y = out.y.data();
  op.last_state = out.h.data();
  SelectiveScanReference(op);
  return out;
}

std::vector<float> OrZeros(const std::vector<float>& values, int count) {
  return values.empty() ? std::vector<float>(static_cast<size_t>(count)) : values;
}

// One group and softplus: what models have, on tiles, gated with a backward half of zeros.
ScanOutput<float> ByTiles(const Kernels& kernels, const Problem& p,
                          const SelectiveScan<float>& op) {
  ScanProblem<float> problem{.length = p.length,
                             .dim = p.dim,
                             .state = p.state,
                             .u = p.u,
                             .delta = p.delta,
                             .b = p.b,
                             .c = p.c,
                             .a2 = p.a,
                             .d = OrZeros(op.d != nullptr ? p.d : std::vector<float>(), p.dim),
                             .bias = OrZeros(p.bias, p.dim),
                             .first_token_init = op.first_token_init,
                             .mask = op.mask,
                             .cumulative = op.cumulative};
  for (float& value : problem.a2) value *= 1.44269504F;
  const Counts counts = FullTiles(p.length);
  ScanOutput<float> out = ScanByTiles(kernels.scan_tile, problem, counts);
  if (op.z == nullptr) return out;
  const size_t tile_size = size_t{kTileTokens} * static_cast<size_t>(UpTo(p.dim, kBlock));
  auto y = ToTiles(out.y, p.dim, counts), z = ToTiles(p.z, p.dim, counts);
  Aligned<float> none(tile_size);
  for (size_t tile = 0; tile < counts.size(); ++tile) {
    kernels.gate_tile({.count = counts[tile],
                       .channels = UpTo(p.dim, kBlock),
                       .forward = y.data() + tile * tile_size,
                       .backward = none.data(),
                       .z = z.data() + tile * tile_size,
                       .out = y.data() + tile * tile_size});
  }
  out.y = FromTiles(y, p.dim, counts);
  return out;
}

TEST(SelectiveScan, MatchesTheOfficialScan) {
  const SafetensorsFile file = ReadReference("op_selective_scan");
  int on_tiles = 0;
  for (const std::string& name : Cases(file)) {
    const StoredTensor& out = file.at(name + ".out");
    const double tolerance = out.dtype == "BF16" ? 1e-2 : 5e-6;
    for (size_t batch = 0; batch < static_cast<size_t>(out.shape[0]); ++batch) {
      const Problem p = ReadProblem(file, name, batch);
      const size_t count = static_cast<size_t>(p.dim) * static_cast<size_t>(p.length);
      const size_t cells = static_cast<size_t>(p.dim) * static_cast<size_t>(p.state);
      const auto y = Transposed(Floats(out), batch * count, static_cast<size_t>(p.dim),
                                static_cast<size_t>(p.length));
      const auto h = Part(Floats(file.at(name + ".last_state")), batch * cells, cells);
      const auto expect = [&](const ScanOutput<float>& got, const std::string& who) {
        EXPECT_LE(RelMax(got.y, y), tolerance) << name << " " << who;
        EXPECT_LE(RelMax(got.h, h), 5e-6) << name << " " << who;
      };
      expect(ByReference(p.Op()), "whole");
      if (p.groups != 1 || !p.softplus) continue;
      for (const Kernels* kernels : KernelsHere())
        expect(ByTiles(*kernels, p, p.Op()), kernels->name);
      ++on_tiles;
    }
  }
  EXPECT_GT(on_tiles, 0);
}

TEST(SelectiveScan, MatchesTheProVariants) {
  const SafetensorsFile file = ReadReference("op_pro_scan");
  int outputs = 0;
  for (const auto& [full_name, tensor] : file.tensors) {
    const size_t dot = full_name.find(".out_");
    if (dot == std::string::npos) continue;
    const std::string variant = full_name.substr(dot);
    const auto says = [&](const char* word) { return variant.find(word) != std::string::npos; };
    for (size_t batch = 0; batch < static_cast<size_t>(tensor.shape[0]); ++batch) {
      const Problem p = ReadProblem(file, full_name.substr(0, dot), batch);
      SelectiveScan<float> op = p.Op();
      op.first_token_init = says("first");
      op.cumulative = says("cumulative");
      op.mask = says("masked");
      if (says("noDz")) op.d = op.z = nullptr;
      const size_t count = static_cast<size_t>(p.dim) * static_cast<size_t>(p.length);
      const auto y = Transposed(Floats(tensor), batch * count, static_cast<size_t>(p.dim),
                                static_cast<size_t>(p.length));
      EXPECT_LE(RelMax(ByReference(op).y, y), 5e-6) << full_name;
      for (const Kernels* kernels : KernelsHere()) {
        EXPECT_LE(RelMax(ByTiles(*kernels, p, op).y, y), 5e-6) << full_name << " " << kernels->name;
      }
      ++outputs;
    }
  }
  EXPECT_GT(outputs, 0);
}

}  // namespace
}  // namespace scanline::testing
