#include "model/mixer.h"

#include <cmath>

#include "model/tensor_ops.h"

namespace scanline {
namespace {

DirectionWeights DirectionFrom(const Weights& weights, const std::string& prefix,
                               const std::string& suffix, const std::string& a_log) {
  DirectionWeights direction;
  direction.conv_weight = weights.Data(prefix + "conv1d" + suffix + ".weight");
  direction.conv_bias = weights.Data(prefix + "conv1d" + suffix + ".bias");
  direction.x_proj = weights.Data(prefix + "x_proj" + suffix + ".weight");
  direction.dt_proj = weights.Data(prefix + "dt_proj" + suffix + ".weight");
  direction.dt_bias = weights.Data(prefix + "dt_proj" + suffix + ".bias");
  direction.d = weights.Data(prefix + "D" + suffix);
  const Tensor& logs = weights.Get(prefix + a_log);
  direction.a.reserve(static_cast<size_t>(logs.size()));
  for (int64_t i = 0; i < logs.size(); ++i) direction.a.push_back(-std::exp(logs.data[i]));
  return direction;
}

CausalConv<float> ConvOf(const DirectionWeights& weights, const BackboneConfig& config, int length,
                         const MixerBuffers& buffers, bool reverse) {
  const int inner = config.d_inner();
  return {.length = length,
          .dim = inner,
          .width = config.d_conv,
          .x = buffers.xz,
          .x_stride = ptrdiff_t{2} * inner,
          .weight = weights.conv_weight,
          .bias = weights.conv_bias,
          .out = buffers.conv,
          .out_stride = inner,
          .reverse = reverse};
}

SelectiveScan<float> ScanOf(const DirectionWeights& weights, const BackboneConfig& config,
                            int length, const MixerBuffers& buffers, bool backward) {
  const int inner = config.d_inner();
  const int row = config.dt_rank + 2 * config.d_state;
  const MixerConfig& mixer = config.mixer;
  const bool raw = mixer.scan_input == MixerConfig::ScanInput::kRaw;
  SelectiveScan<float> op{.length = length,
                          .dim = inner,
                          .state = config.d_state,
                          .u = raw ? buffers.xz : buffers.conv,
                          .u_stride = raw ? ptrdiff_t{2} * inner : inner,
                          .delta = buffers.delta,
                          .delta_stride = inner,
                          .a = weights.a.data(),
                          .b = buffers.x_dbl + config.dt_rank,
                          .c = buffers.x_dbl + config.dt_rank + config.d_state,
                          .bc_stride = row,
                          .d = weights.d,
                          .delta_bias = weights.dt_bias,
                          .y = buffers.y,
                          .y_stride = inner};
  op.reverse = backward;
  op.first_token_init = mixer.init == MixerConfig::Init::kFirstToken;
  op.mask = backward && mixer.mask_backward;
  op.cumulative = mixer.residual == MixerConfig::Residual::kCumulative;
  // (y_forward + y_backward) SiLU(z): z is the same for both, so the second one gates the sum.
  op.accumulate = backward;
  if (backward && mixer.gate) {
    op.z = buffers.xz + inner;
    op.z_stride = ptrdiff_t{2} * inner;
  }
  return op;
}

// The channels of `op` from `begin` to `end`.
CausalConv<float> Slice(CausalConv<float> op, int64_t begin, int64_t end) {
  op.dim = static_cast<int>(end - begin);
  op.x += begin;
  op.weight += begin * op.width;
  op.bias += begin;
  op.out += begin;
  return op;
}

SelectiveScan<float> Slice(SelectiveScan<float> op, int64_t begin, int64_t end) {
  op.dim = static_cast<int>(end - begin);
  op.u += begin;
  op.delta += begin;
  op.a += begin * op.state;
  op.d += begin;
  op.delta_bias += begin;
  op.y += begin;
  if (op.z != nullptr) op.z += begin;
  return op;
}

constexpr int64_t kChannels = 64;  // a thread's share: whole cache lines

void RunConv(const CausalConv<float>& op, const Kernels& kernels) {
  const auto run = kernels.takes_conv(op) ? kernels.causal_conv : CausalConvReference<float>;
  ParallelFor(op.dim, kChannels, [&](int64_t begin, int64_t end) { run(Slice(op, begin, end)); });
}

void RunScan(const SelectiveScan<float>& op, const Kernels& kernels, float* scratch) {
  const Kernels& chosen = kernels.takes_scan(op) ? kernels : *FindKernels("scalar");
  ParallelFor(op.dim, kChannels, [&](int64_t begin, int64_t end) {
    chosen.selective_scan(Slice(op, begin, end),
                          scratch + ScanScratchFloats(static_cast<int>(begin), op.state));
  });
}

// conv, then [dt | B | C] = x_proj(conv), then delta = dt_proj dt.
void Project(const DirectionWeights& weights, const BackboneConfig& config, const Kernels& kernels,
             int length, const MixerBuffers& buffers, bool reverse) {
  const int inner = config.d_inner();
  const int row = config.dt_rank + 2 * config.d_state;
  RunConv(ConvOf(weights, config, length, buffers, reverse), kernels);
  RunGemm({.x = buffers.conv,
           .rows = length,
           .inner = inner,
           .x_stride = inner,
           .weight = weights.x_proj,
           .columns = row,
           .out = buffers.x_dbl});
  RunGemm({.x = buffers.x_dbl,
           .rows = length,
           .inner = config.dt_rank,
           .x_stride = row,
           .weight = weights.dt_proj,
           .columns = inner,
           .out = buffers.delta});
}

}  // namespace

MixerWeights MixerWeights::From(const Weights& weights, const std::string& prefix,
                                const BackboneConfig& config) {
  MixerWeights mixer;
  mixer.in_proj = weights.Data(prefix + "in_proj.weight");
  mixer.out_proj = weights.Data(prefix + "out_proj.weight");
  mixer.forward = DirectionFrom(weights, prefix, "", "A_log");
  mixer.backward = DirectionFrom(weights, prefix, config.mixer.shared ? "" : "_b", "A_b_log");
  return mixer;
}

void RunMixer(const MixerWeights& weights, const BackboneConfig& config, const Kernels& kernels,
              const float* x, int length, const MixerBuffers& buffers, float* out) {
  const int dim = config.embed_dim;
  const int inner = config.d_inner();
  RunGemm({.x = x,
           .rows = length,
           .inner = dim,
           .x_stride = dim,
           .weight = weights.in_proj,
           .columns = 2 * inner,
           .out = buffers.xz});
  Project(weights.forward, config, kernels, length, buffers, /*reverse=*/false);
  RunScan(ScanOf(weights.forward, config, length, buffers, false), kernels, buffers.scratch);
  // Shared parameters: the official code scans the forward convolution's output in reverse.
  if (!config.mixer.shared) {
    Project(weights.backward, config, kernels, length, buffers, /*reverse=*/true);
  }
  RunScan(ScanOf(weights.backward, config, length, buffers, true), kernels, buffers.scratch);
  RunGemm({.x = buffers.y,
           .rows = length,
           .inner = inner,
           .x_stride = inner,
           .weight = weights.out_proj,
           .columns = dim,
           .out = out});
}

bool TakesMixer(const Kernels& kernels, const BackboneConfig& config) {
  const MixerBuffers buffers;
  const DirectionWeights weights;
  return kernels.takes_conv(ConvOf(weights, config, 1, buffers, false)) &&
         kernels.takes_scan(ScanOf(weights, config, 1, buffers, true));
}

}  // namespace scanline
