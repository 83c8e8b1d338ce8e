#include "bench/engine/peaks.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "base/check.h"
#include "model/packed_mixer.h"
#include "model/team.h"
#include "tests/support/generator.h"

namespace scanline::bench {
namespace {

constexpr int kChains = 16;                   // more than latency times throughput of any x86
constexpr int64_t kSteps = int64_t{1} << 16;  // short, so that other load leaves some runs alone

double Seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double BestSeconds(int runs, const std::function<void()>& body) {
  double best = Seconds(body);
  for (int run = 1; run < runs; ++run) best = std::min(best, Seconds(body));
  return best;
}

// kChains kSteps multiply-adds; what they give is needed, or they would not be done.
__attribute__((target("avx2,fma"))) float Chains256() {
  const __m256 x = _mm256_set1_ps(0.5F);
  __m256 sum[kChains];
  for (auto& s : sum) s = x;
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (auto& s : sum) s = _mm256_fmadd_ps(s, x, x);
    // Nothing may be known of the values, or moved out of the loop.
    asm volatile("" : "+x"(sum[0]));
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  return _mm256_cvtss_f32(sum[0]);
}

__attribute__((target("avx512f"))) float Chains512() {
  const __m512 x = _mm512_set1_ps(0.5F);
  __m512 sum[kChains];
  for (auto& s : sum) s = x;
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (auto& s : sum) s = _mm512_fmadd_ps(s, x, x);
    asm volatile("" : "+v"(sum[0]));
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  return _mm512_cvtss_f32(sum[0]);
}

// Nanoseconds of a multiply-add of each thread, while all do the same; of each its best run.
std::vector<double> FmaNs(float (*chains)(), int threads) {
  constexpr int kRuns = 100;
  std::vector<double> ns(threads);
  Team team(threads);
  team.Run([&](int rank) {
    const double seconds = BestSeconds(kRuns, [&] { SCANLINE_CHECK(chains() > 0); });
    ns[rank] = seconds * 1e9 / (double{kChains} * kSteps);
  });
  return ns;
}

double Gflops(const std::vector<double>& ns, int lanes) {
  double sum = 0;
  for (const double of_thread : ns) sum += 2.0 * lanes / of_thread;
  return sum;
}

// Values as a trained layer has them: the generator's.
AlignedFloats Values(const char* name, size_t count, const std::function<float(double)>& value) {
  AlignedFloats values = AllocateFloats(count);
  for (size_t i = 0; i < count; ++i) values[i] = value(testing::Uniform(name, 1, i));
  return values;
}

}  // namespace

FmaPeak MeasureFma(int threads) {
  FmaPeak peak;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    peak.ns_256 = FmaNs(Chains256, 1).front();
    peak.gflops_256 = Gflops(FmaNs(Chains256, threads), 8);
  }
  if (__builtin_cpu_supports("avx512f")) {
    peak.ns_512 = FmaNs(Chains512, 1).front();
    peak.gflops_512 = Gflops(FmaNs(Chains512, threads), 16);
  }
  return peak;
}

double MeasureTriad(int threads) {
  constexpr int64_t kLength = int64_t{1} << 24;  // 128 MiB an array
  constexpr int kRuns = 5;
  constexpr double kBytes = 24;
  std::vector<double> a(kLength), b(kLength, 1.0), c(kLength, 2.0);
  Team team(threads);
  const double seconds = BestSeconds(kRuns, [&] {
    team.Run([&](int rank) {
      const int64_t end = kLength * (rank + 1) / threads;
      for (int64_t i = kLength * rank / threads; i < end; ++i) a[i] = b[i] + 3.0 * c[i];
    });
  });
  SCANLINE_CHECK(a[kLength / 2] == 7.0);
  return kBytes * kLength / seconds * 1e-9;
}

double MeasureScan(const BackboneConfig& config, const Kernels& kernels, int runs) {
  const MixerShape shape(config);
  const int tiles = (config.tokens() + kTileTokens - 1) / kTileTokens;
  const size_t tile = static_cast<size_t>(shape.channels) * kTileTokens;
  const size_t states = static_cast<size_t>(shape.channels) * shape.state;
  const auto centred = [](double u) { return static_cast<float>(2 * u - 1); };
  const auto u = Values("u", tile, centred);
  const auto delta = Values("delta", size_t{kPanel} * kTileTokens, centred);
  const auto bc = Values("bc", size_t{kTileTokens} * shape.row, centred);
  const auto a2 = Values("a2", states, [](double u) { return static_cast<float>(-24 * u); });
  const auto d = Values("d", shape.channels, centred);
  const auto bias = Values("bias", shape.channels,
                           [](double u) { return static_cast<float>(-4 + 2 * (2 * u - 1)); });
  const auto y = AllocateFloats(tiles * tile);
  const auto h = AllocateFloats(states);
  std::fill_n(h.get(), states, 0.0F);
  const auto pass = [&](bool reverse) {
    for (int step = 0; step < tiles; ++step) {
      const int at = reverse ? tiles - 1 - step : step;
      for (int channel = 0; channel < shape.channels; channel += kPanel) {
        const ptrdiff_t block = channel / kBlock * kTileBlock;
        kernels.scan_tile({.count = std::min(kTileTokens, config.tokens() - at * kTileTokens),
                           .channels = kPanel,
                           .state = shape.state,
                           .u = u.get() + block,
                           .delta = delta.get(),
                           .b = bc.get() + shape.b_at,
                           .c = bc.get() + shape.c_at,
                           .bc_stride = shape.row,
                           .a2 = a2.get() + ptrdiff_t{channel} * shape.state,
                           .d = d.get() + channel,
                           .delta_bias = bias.get() + channel,
                           .h = h.get() + ptrdiff_t{channel} * shape.state,
                           .y = y.get() + at * tile + block,
                           .reverse = reverse,
                           .first = step == 0});
      }
    }
  };
  const double seconds = BestSeconds(runs, [&] {
    pass(false);
    pass(true);
  });
  return seconds * 1e9 / (2.0 * config.tokens() * static_cast<double>(states));
}

}  // namespace scanline::bench
