#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/avx2_math.h"

// Tiles of tokens outermost, so that a tile's rows stay in L1/L2 while 16 channels at a time (one
// cache line a row) go through: first softplus, dt u and D u of the tile, then four states at a
// time in registers over all its tokens, then gate and store.

namespace scanline {
namespace {

constexpr int kTile = 64;   // tokens
constexpr int kLanes = 8;
constexpr int kPass = 4;  // states in registers
constexpr float kLog2E = 1.44269504088896341f;

struct Tile {  // [half of the block][token][lane]
  __m256 dt[2][kTile];
  __m256 dx[2][kTile];       // dt u
  __m256 y[2][kTile];        // read-out so far
  __m256 earlier[2][kTile];  // S
};

// Scan order turned into addresses: row of step s = first + s * step.
struct Rows {
  ptrdiff_t first;
  ptrdiff_t step;
};

Rows RowsOf(const SelectiveScan<float>& op) {
  return op.reverse ? Rows{op.length - 1, -1} : Rows{0, 1};
}

// a2 = a log2(e), h = initial state, both [dim / 8][state][8]; sums = 0, [dim].
void Pack(const SelectiveScan<float>& op, float* a2, float* h, float* sums) {
  const float* first_u = op.u + RowsOf(op).first * op.u_stride;
  for (int d = 0; d < op.dim; ++d) {
    const ptrdiff_t to = static_cast<ptrdiff_t>(d / kLanes) * kLanes * op.state + d % kLanes;
    const float* from = op.a + static_cast<ptrdiff_t>(d) * op.state;
    for (int n = 0; n < op.state; ++n) {
      a2[to + n * kLanes] = from[n] * kLog2E;
      h[to + n * kLanes] = op.first_token_init ? first_u[d] : 0.0f;
    }
    sums[d] = 0;
  }
}

void Unpack(const SelectiveScan<float>& op, const float* h) {
  for (int d = 0; d < op.dim; ++d) {
    const ptrdiff_t from = static_cast<ptrdiff_t>(d / kLanes) * kLanes * op.state + d % kLanes;
    for (int n = 0; n < op.state; ++n) {
      op.last_state[static_cast<ptrdiff_t>(d) * op.state + n] = h[from + n * kLanes];
    }
  }
}

void Prepare(const SelectiveScan<float>& op, int begin, int count, int channel, float* sums,
             Tile& tile) {
  const Rows rows = RowsOf(op);
  for (int half = 0; half < 2; ++half) {
    const int d = channel + half * kLanes;
    const __m256 bias =
        op.delta_bias != nullptr ? _mm256_loadu_ps(op.delta_bias + d) : _mm256_setzero_ps();
    const __m256 skip = op.d != nullptr ? _mm256_loadu_ps(op.d + d) : _mm256_setzero_ps();
    __m256 sum = _mm256_loadu_ps(sums + d);
    for (int i = 0; i < count; ++i) {
      const ptrdiff_t row = rows.first + (begin + i) * rows.step;
      const __m256 u = _mm256_loadu_ps(op.u + row * op.u_stride + d);
      const __m256 delta = _mm256_loadu_ps(op.delta + row * op.delta_stride + d);
      const __m256 dt = Softplus(_mm256_add_ps(delta, bias));
      tile.dt[half][i] = dt;
      tile.dx[half][i] = _mm256_mul_ps(dt, u);
      tile.y[half][i] = _mm256_mul_ps(skip, u);
      tile.earlier[half][i] = sum;
      sum = _mm256_add_ps(sum, u);
    }
    _mm256_storeu_ps(sums + d, sum);
  }
}

// Four states, from n on, of eight channels over the tile. a2 and h point at state n of these
// channels.
template <bool kMask, bool kCumulative>
void RunStates(const SelectiveScan<float>& op, int begin, int count, int n, const float* a2,
               float* h, int half, Tile& tile) {
  __m256 a[kPass];
  __m256 state[kPass];
  for (int k = 0; k < kPass; ++k) {
    a[k] = _mm256_loadu_ps(a2 + k * kLanes);
    state[k] = _mm256_loadu_ps(h + k * kLanes);
  }
  const Rows rows = RowsOf(op);
  const ptrdiff_t step = rows.step * op.bc_stride;
  const ptrdiff_t start = (rows.first + begin * rows.step) * op.bc_stride + n;
  const float* b = op.b + start;
  const float* c = op.c + start;
  for (int i = 0; i < count; ++i) {
    const __m256 dt = tile.dt[half][i];
    const __m256 dx = tile.dx[half][i];
    __m256 y = tile.y[half][i];
    for (int k = 0; k < kPass; ++k) {
      const __m256 decay = Exp2NonPositive(_mm256_mul_ps(dt, a[k]));
      if (kCumulative) state[k] = _mm256_add_ps(state[k], tile.earlier[half][i]);
      const __m256 carried = _mm256_mul_ps(decay, state[k]);
      state[k] = _mm256_fmadd_ps(dx, _mm256_broadcast_ss(b + i * step + k), carried);
      y = _mm256_fmadd_ps(_mm256_broadcast_ss(c + i * step + k), kMask ? carried : state[k], y);
    }
    tile.y[half][i] = y;
  }
  for (int k = 0; k < kPass; ++k) _mm256_storeu_ps(h + k * kLanes, state[k]);
}

void Finish(const SelectiveScan<float>& op, int begin, int count, int channel, Tile& tile) {
  const Rows rows = RowsOf(op);
  for (int half = 0; half < 2; ++half) {
    const int d = channel + half * kLanes;
    if (op.mask && begin == 0) {  // Nothing is read out at the first token.
      const __m256 u = _mm256_loadu_ps(op.u + rows.first * op.u_stride + d);
      const __m256 skip = op.d != nullptr ? _mm256_loadu_ps(op.d + d) : _mm256_setzero_ps();
      tile.y[half][0] = _mm256_mul_ps(skip, u);
    }
    for (int i = 0; i < count; ++i) {
      const ptrdiff_t row = rows.first + (begin + i) * rows.step;
      float* out = op.y + row * op.y_stride + d;
      __m256 y = tile.y[half][i];
      if (op.accumulate) y = _mm256_add_ps(y, _mm256_loadu_ps(out));
      if (op.z != nullptr) {
        y = _mm256_mul_ps(y, Silu(_mm256_loadu_ps(op.z + row * op.z_stride + d)));
      }
      _mm256_storeu_ps(out, y);
    }
  }
}

template <bool kMask, bool kCumulative>
void Run(const SelectiveScan<float>& op, float* scratch) {
  const ptrdiff_t cells = static_cast<ptrdiff_t>(op.dim) * op.state;
  float* a2 = scratch;
  float* h = scratch + cells;
  float* sums = h + cells;
  Pack(op, a2, h, sums);
  Tile tile;
  for (int begin = 0; begin < op.length; begin += kTile) {
    const int count = op.length - begin < kTile ? op.length - begin : kTile;
    for (int channel = 0; channel < op.dim; channel += kBlock) {
      Prepare(op, begin, count, channel, sums, tile);
      for (int half = 0; half < 2; ++half) {
        const ptrdiff_t at = static_cast<ptrdiff_t>(channel + half * kLanes) * op.state;
        for (int n = 0; n < op.state; n += kPass) {
          RunStates<kMask, kCumulative>(op, begin, count, n, a2 + at + n * kLanes,
                                        h + at + n * kLanes, half, tile);
        }
      }
      Finish(op, begin, count, channel, tile);
    }
  }
  if (op.last_state != nullptr) Unpack(op, h);
}

}  // namespace

bool TakesScanAvx2(const SelectiveScan<float>& op) {
  return op.dim % kBlock == 0 && op.state % kPass == 0 && op.softplus && op.groups == 1;
}

void SelectiveScanAvx2(const SelectiveScan<float>& op, float* scratch) {
  if (op.length == 0) return;
  if (op.mask) {
    op.cumulative ? Run<true, true>(op, scratch) : Run<true, false>(op, scratch);
  } else {
    op.cumulative ? Run<false, true>(op, scratch) : Run<false, false>(op, scratch);
  }
}

}  // namespace scanline
