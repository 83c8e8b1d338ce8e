#include "bench/engine/peaks.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "base/check.h"
#include "base/team.h"
#include "model/packed_mixer.h"
#include "tests/support/generator.h"

namespace scanline::bench {
namespace {

constexpr int kChains =
    12;  // more than latency times throughput of any x86, and they fit in 16 registers
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

// kChains kSteps multiply-adds, s = s x + x. In assembly, since compilers spill the registers.
#define FMA_LOOP                  \
  "1:\n\t"                        \
  "vfmadd213ps %13, %13, %0\n\t"  \
  "vfmadd213ps %13, %13, %1\n\t"  \
  "vfmadd213ps %13, %13, %2\n\t"  \
  "vfmadd213ps %13, %13, %3\n\t"  \
  "vfmadd213ps %13, %13, %4\n\t"  \
  "vfmadd213ps %13, %13, %5\n\t"  \
  "vfmadd213ps %13, %13, %6\n\t"  \
  "vfmadd213ps %13, %13, %7\n\t"  \
  "vfmadd213ps %13, %13, %8\n\t"  \
  "vfmadd213ps %13, %13, %9\n\t"  \
  "vfmadd213ps %13, %13, %10\n\t" \
  "vfmadd213ps %13, %13, %11\n\t" \
  "dec %12\n\t"                   \
  "jnz 1b"

__attribute__((target("avx2,fma"))) float Chains256() {
  const __m256 x = _mm256_set1_ps(0.5F);
  __m256 s[kChains] = {x, x, x, x, x, x, x, x, x, x, x, x};
  int64_t steps = kSteps;
  asm volatile(FMA_LOOP
               : "+&x"(s[0]), "+&x"(s[1]), "+&x"(s[2]), "+&x"(s[3]), "+&x"(s[4]), "+&x"(s[5]),
                 "+&x"(s[6]), "+&x"(s[7]), "+&x"(s[8]), "+&x"(s[9]), "+&x"(s[10]), "+&x"(s[11]),
                 "+r"(steps)
               : "x"(x)
               : "cc");
  for (int k = 1; k < kChains; ++k) s[0] = _mm256_add_ps(s[0], s[k]);
  return _mm256_cvtss_f32(s[0]);
}

__attribute__((target("avx512f"))) float Chains512() {
  const __m512 x = _mm512_set1_ps(0.5F);
  __m512 s[kChains] = {x, x, x, x, x, x, x, x, x, x, x, x};
  int64_t steps = kSteps;
  asm volatile(FMA_LOOP
               : "+&v"(s[0]), "+&v"(s[1]), "+&v"(s[2]), "+&v"(s[3]), "+&v"(s[4]), "+&v"(s[5]),
                 "+&v"(s[6]), "+&v"(s[7]), "+&v"(s[8]), "+&v"(s[9]), "+&v"(s[10]), "+&v"(s[11]),
                 "+r"(steps)
               : "v"(x)
               : "cc");
  for (int k = 1; k < kChains; ++k) s[0] = _mm512_add_ps(s[0], s[k]);
  return _mm512_cvtss_f32(s[0]);
}

#undef FMA_LOOP

// Nanoseconds of a multiply-add of each thread, while all do the same; of each its best run.
std::vector<double> FmaNs(float (*chains)(), int threads) {
  constexpr int kRuns = 30;
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

void MeasureFma(int threads, FmaPeak* best) {
  const auto keep = [&](float (*chains)(), int lanes, double* ns, double* gflops) {
    const double alone = FmaNs(chains, 1).front();
    *ns = *ns == 0 ? alone : std::min(*ns, alone);
    *gflops = std::max(*gflops, Gflops(FmaNs(chains, threads), lanes));
  };
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    keep(Chains256, 8, &best->ns_256, &best->gflops_256);
  }
  if (__builtin_cpu_supports("avx512f")) {
    keep(Chains512, 16, &best->ns_512, &best->gflops_512);
  }
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
