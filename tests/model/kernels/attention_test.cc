#include <gtest/gtest.h>

#include "model/kernels/kernels.h"
#include "model/weights.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

TEST(Attention, EveryKernelMatchesDouble) {
  for (const int dim : {5, 8, 24, 64}) {
    for (const auto& [queries, keys] : {std::pair{1, 1}, {3, 7}, {4, 8}, {9, 17}, {13, 300}}) {
      const auto q = Generate("q.input", {queries, dim}, 1);
      const auto k = Generate("k.input", {keys, 2 * dim}, 2);  // [key | value], so strides count
      std::vector<double> q_double(q.begin(), q.end());
      std::vector<double> k_double(k.begin(), k.end());
      std::vector<double> want(q.size());
      AttentionReference(Attention<double>{.queries = queries,
                                           .keys = keys,
                                           .dim = dim,
                                           .q = q_double.data(),
                                           .q_stride = dim,
                                           .k = k_double.data(),
                                           .k_stride = 2 * dim,
                                           .v = k_double.data() + dim,
                                           .v_stride = 2 * dim,
                                           .scale = 0.7,
                                           .out = want.data(),
                                           .out_stride = dim});
      for (const Kernels* kernels : KernelsHere()) {
        std::vector<float> out(q.size());
        const Attention<float> op{.queries = queries,
                                  .keys = keys,
                                  .dim = dim,
                                  .q = q.data(),
                                  .q_stride = dim,
                                  .k = k.data(),
                                  .k_stride = 2 * dim,
                                  .v = k.data() + dim,
                                  .v_stride = 2 * dim,
                                  .scale = 0.7f,
                                  .out = out.data(),
                                  .out_stride = dim};
        if (!kernels->takes_attention(op)) continue;
        const AlignedFloats scratch = AllocateFloats(AttentionScratchFloats(keys, dim));
        kernels->attention(op, scratch.get());
        EXPECT_LE(RelMax(out, want), 3e-6) << kernels->name << " " << dim << " " << keys;
      }
    }
  }
}

}  // namespace
}  // namespace scanline::testing
