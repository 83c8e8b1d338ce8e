#pragma once

#include "model/cuda/device.h"

// The selective scan as a recurrence in registers. One channel belongs to kLanes neighbouring
// threads with kState / kLanes states each; the tokens of a tile come to shared memory by
// asynchronous copies while the tile before is worked on, with one barrier a tile. Per state and
// token: multiply, ex2, multiply, and two fused multiply-adds, of which ex2 is the bound.
//
// With chunks, ScanPass::kStates runs first and gives for each chunk but the last its state from 0
// and its sum of dt, whose exponential carries a state across it; then each chunk of an output
// pass folds those before it into the state that it starts with.

namespace scanline::cuda {

inline constexpr int kScanThreads = 128;

// kMasked and kCumulative are kOutput with those options of Scan; the second takes the first too.
enum class ScanPass { kStates, kOutput, kMasked, kCumulative };

// What y reads: the state after the token's own part came in, or before.
enum class ScanRead { kNothing, kAfter, kBefore };

// Where chunks leave their ends: states [batch * 2][chunks - 1][inner][state], then sums of dt
// [batch * 2][chunks - 1][inner].
SCANLINE_DEVICE size_t ScanSumsAt(const Scan& op) {
  return size_t{2} * op.batch * (op.plan.chunks - 1) * op.inner * op.state;
}

template <typename T, int kLanes, int kState>
struct ScanTile {
  static constexpr int kChannels = kScanThreads / kLanes;
  static constexpr int kSteps = sizeof(T) == 4 ? 16 : 32;

  T u[kSteps][kChannels];
  T dt[kSteps][kChannels];
  float bc[kSteps][2 * kState];
};

template <typename T, int kLanes, int kState>
struct ScanShared {
  alignas(16) ScanTile<T, kLanes, kState> tile[2];
};

// What one block works on: steps [begin, end) of one direction of one sequence.
struct ScanWork {
  bool backward;
  int chunk;
  int begin;
  int end;
  int first_channel;
  size_t row;  // of the sequence's first token
};

SCANLINE_DEVICE ScanWork MakeScanWork(const Scan& op, int channels, int steps) {
  const int chunks = op.plan.chunks;
  const int rows = gridDim.y / op.batch;  // chunks of this pass
  const int sequence = static_cast<int>(blockIdx.y) / rows;
  ScanWork work;
  work.backward = blockIdx.z == 1;
  work.chunk = static_cast<int>(blockIdx.y) % rows;
  const int tiles = (op.length + steps - 1) / steps;
  const int share = (tiles + chunks - 1) / chunks * steps;
  work.begin = work.chunk * share < op.length ? work.chunk * share : op.length;
  work.end = work.begin + share < op.length ? work.begin + share : op.length;
  work.first_channel = static_cast<int>(blockIdx.x) * channels;
  work.row = static_cast<size_t>(sequence) * op.length;
  return work;
}

SCANLINE_DEVICE size_t RowOfStep(const Scan& op, const ScanWork& work, int step) {
  return work.row + (work.backward ? op.length - 1 - step : step);
}

// Steps begin.. of the work; what lies beyond its end or beside its channels is zero, so that dt
// leaves the state as it is.
template <typename T, int kLanes, int kState>
SCANLINE_DEVICE void LoadTile(const Scan& op, const ScanWork& work, int begin,
                              ScanTile<T, kLanes, kState>& tile) {
  using Tile = ScanTile<T, kLanes, kState>;
  constexpr int kPerCopy = 16 / static_cast<int>(sizeof(T));
  constexpr int kRowCopies = Tile::kChannels / kPerCopy;
  // Selected one by one: an array of parameters under a run-time index would live in memory.
  const T* u = static_cast<const T*>(work.backward ? op.backward.u : op.forward.u);
  const T* dt = static_cast<const T*>(work.backward ? op.backward.dt : op.forward.dt);
  const float* bc = work.backward ? op.backward.bc : op.forward.bc;
  SCANLINE_UNROLL
  for (int i = 0; i < Tile::kSteps * kRowCopies; i += kScanThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    const int step = at / kRowCopies;
    const int column = at % kRowCopies * kPerCopy;
    const bool valid = begin + step < work.end && work.first_channel + column < op.inner;
    const size_t row = valid ? RowOfStep(op, work, begin + step) : work.row;
    const int channel = valid ? work.first_channel + column : 0;
    CopyAsync(&tile.u[step][column], u + row * op.u_stride + channel, valid);
    CopyAsync(&tile.dt[step][column], dt + row * op.inner + channel, valid);
  }
  constexpr int kBcCopies = 2 * kState / 4;
  SCANLINE_UNROLL
  for (int i = 0; i < Tile::kSteps * kBcCopies; i += kScanThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    if (at >= Tile::kSteps * kBcCopies) break;
    const int step = at / kBcCopies;
    const int column = at % kBcCopies * 4;
    const bool valid = begin + step < work.end;
    const size_t row = valid ? RowOfStep(op, work, begin + step) : work.row;
    CopyAsync(&tile.bc[step][column], bc + row * 2 * kState + column, valid);
  }
}

// The share of a channel that a thread has, and how far it is.
template <int kStates>
struct ScanLane {
  int lane;          // of the channel's
  int place;         // of the channel in the tile
  int channel;       // beside op.inner: it works on zeros and writes nothing
  int first_state;   // lane * kStates
  float a[kStates];  // times log2(e)
  float h[kStates];
  float earlier;  // sum of the u before
  float dt_sum;
};

template <typename T, int kLanes, int kState>
SCANLINE_DEVICE void StartLane(const Scan& op, const ScanWork& work,
                               ScanLane<kState / kLanes>& lane) {
  lane.lane = static_cast<int>(threadIdx.x) % kLanes;
  lane.place = static_cast<int>(threadIdx.x) / kLanes;
  lane.channel = work.first_channel + lane.place;
  lane.first_state = lane.lane * (kState / kLanes);
  lane.earlier = 0.0F;
  lane.dt_sum = 0.0F;
  const bool alive = lane.channel < op.inner;
  const float* a = work.backward ? op.backward.a : op.forward.a;
  const T* u = static_cast<const T*>(work.backward ? op.backward.u : op.forward.u);
  const bool from_token = op.first_token_init && work.chunk == 0 && alive;
  const float start =
      from_token ? ToFloat(u[RowOfStep(op, work, 0) * op.u_stride + lane.channel]) : 0.0F;
  SCANLINE_UNROLL
  for (int n = 0; n < kState / kLanes; ++n) {
    const size_t at = static_cast<size_t>(lane.channel) * kState + lane.first_state + n;
    lane.a[n] = alive ? a[at] * kLog2E : 0.0F;
    lane.h[n] = start;
  }
}

// Where chunk `chunk` of this direction and sequence left its end; `chunks` are those of the pass.
SCANLINE_DEVICE size_t EndAt(const Scan& op, const ScanWork& work, int chunks, int chunk) {
  const int way = static_cast<int>(blockIdx.y) / chunks * 2 + (work.backward ? 1 : 0);
  return (static_cast<size_t>(way) * (op.plan.chunks - 1) + chunk) * op.inner;
}

// The state that the chunks before leave.
template <int kState, int kStates>
SCANLINE_DEVICE void FoldChunks(const Scan& op, const ScanWork& work, ScanLane<kStates>& lane) {
  if (lane.channel >= op.inner) return;
  for (int chunk = 0; chunk < work.chunk; ++chunk) {
    const size_t at = EndAt(op, work, op.plan.chunks, chunk) + lane.channel;
    const float* end = op.workspace + at * kState + lane.first_state;
    const float dt = op.workspace[ScanSumsAt(op) + at];
    SCANLINE_UNROLL
    for (int n = 0; n < kStates; ++n) lane.h[n] = Fma(Ex2(dt * lane.a[n]), lane.h[n], end[n]);
  }
}

template <int kState, int kStates>
SCANLINE_DEVICE void StoreEnd(const Scan& op, const ScanWork& work, const ScanLane<kStates>& lane) {
  if (lane.channel >= op.inner) return;
  const size_t at = EndAt(op, work, op.plan.chunks - 1, work.chunk) + lane.channel;
  float* end = op.workspace + at * kState + lane.first_state;
  SCANLINE_UNROLL
  for (int n = 0; n < kStates; ++n) end[n] = lane.h[n];
  if (lane.first_state == 0) op.workspace[ScanSumsAt(op) + at] = lane.dt_sum;
}

// The sums over a channel's lanes of the partial y of four steps. Lane l of kLanes ends with the
// sums of steps l, l + kLanes, ... of the four, in y[0], y[1], ...
template <int kLanes>
SCANLINE_DEVICE void SumLanes(int lane, float (&y)[4]) {
  if constexpr (kLanes == 2) {
    const bool odd = lane == 1;
    const float first = odd ? y[0] : y[1];
    const float second = odd ? y[2] : y[3];
    y[0] = (odd ? y[1] : y[0]) + ShuffleXor(first, 1);
    y[1] = (odd ? y[3] : y[2]) + ShuffleXor(second, 1);
  }
  if constexpr (kLanes == 4) {
    const bool high = lane >= 2;
    const bool odd = lane % 2 == 1;
    const float first = high ? y[0] : y[2];
    const float second = high ? y[1] : y[3];
    const float even_sum = (high ? y[2] : y[0]) + ShuffleXor(first, 2);
    const float odd_sum = (high ? y[3] : y[1]) + ShuffleXor(second, 2);
    const float third = odd ? even_sum : odd_sum;
    y[0] = (odd ? odd_sum : even_sum) + ShuffleXor(third, 1);
  }
}

// One token of a lane's states; returns its part of y without the skip.
template <ScanRead kRead, bool kCumulative, typename T, int kLanes, int kState>
SCANLINE_DEVICE float Advance(const ScanTile<T, kLanes, kState>& tile, int step,
                              ScanLane<kState / kLanes>& lane) {
  constexpr int kStates = kState / kLanes;
  constexpr int kVector = kStates < 4 ? kStates : 4;
  const float u = ToFloat(tile.u[step][lane.place]);
  const float dt = ToFloat(tile.dt[step][lane.place]);
  const float dtu = dt * u;
  const float* bc = tile.bc[step] + lane.first_state;
  float y = 0.0F;
  SCANLINE_UNROLL
  for (int first = 0; first < kStates; first += kVector) {
    const auto b = LoadVector<4 * kVector>(bc + first);
    const auto c = LoadVector<4 * kVector>(bc + kState + first);
    SCANLINE_UNROLL
    for (int j = 0; j < kVector; ++j) {
      float& h = lane.h[first + j];
      const float decay = Ex2(dt * lane.a[first + j]);
      if constexpr (kCumulative) h += lane.earlier;
      if constexpr (kRead == ScanRead::kBefore) {
        h *= decay;
        y = Fma(c.at[j], h, y);
        h = Fma(dtu, b.at[j], h);
      } else {
        h = Fma(decay, h, dtu * b.at[j]);
        if constexpr (kRead == ScanRead::kAfter) y = Fma(c.at[j], h, y);
      }
    }
  }
  if constexpr (kRead == ScanRead::kNothing) lane.dt_sum += dt;
  if constexpr (kCumulative) lane.earlier += u;
  return y;
}

// The steps of a tile, the first of which is step `begin` of the sequence. `out` moves along.
template <ScanRead kRead, bool kCumulative, typename T, int kLanes, int kState>
SCANLINE_DEVICE void RunTile(const Scan& op, const ScanTile<T, kLanes, kState>& tile, int begin,
                             int steps, float skip, ptrdiff_t stride,
                             ScanLane<kState / kLanes>& lane, T*& out) {
  constexpr int kStep = 4;  // steps at a time; what is beyond `steps` is zero
  SCANLINE_NO_UNROLL
  for (int step = 0; step < steps; step += kStep) {
    float y[kStep];
    SCANLINE_UNROLL
    for (int i = 0; i < kStep; ++i) y[i] = Advance<kRead, kCumulative>(tile, step + i, lane);
    if constexpr (kRead == ScanRead::kNothing) continue;
    SumLanes<kLanes>(lane.lane, y);
    SCANLINE_UNROLL
    for (int i = 0; i < kStep / kLanes; ++i) {
      const int mine = step + i * kLanes + lane.lane;
      const float read = kRead == ScanRead::kBefore && begin + mine == 0 ? 0.0F : y[i];
      const float value = Fma(skip, ToFloat(tile.u[mine][lane.place]), read);
      if (lane.channel < op.inner && mine < steps) out[i * kLanes * stride] = FromFloat<T>(value);
    }
    out += kStep * stride;
  }
}

template <typename T, int kLanes, int kState, ScanPass kPass>
__global__ void __launch_bounds__(kScanThreads) ScanKernel(const Scan op) {
  using Tile = ScanTile<T, kLanes, kState>;
  using Shared = ScanShared<T, kLanes, kState>;
  SCANLINE_SHARED(Shared, shared);
  const ScanWork work = MakeScanWork(op, Tile::kChannels, Tile::kSteps);
  ScanLane<kState / kLanes> lane;
  StartLane<T, kLanes, kState>(op, work, lane);
  if constexpr (kPass != ScanPass::kStates) FoldChunks<kState>(op, work, lane);
  const float* skips = work.backward ? op.backward.d : op.forward.d;
  const float skip = lane.channel < op.inner ? skips[lane.channel] : 0.0F;
  const bool masked = op.mask_backward && work.backward;
  const ptrdiff_t stride = work.backward ? -ptrdiff_t{op.inner} : ptrdiff_t{op.inner};  // of a step
  T* out = static_cast<T*>(work.backward ? op.backward.y : op.forward.y) +
           RowOfStep(op, work, work.begin < work.end ? work.begin : 0) * op.inner + lane.channel +
           lane.lane * stride;

  if (work.begin < work.end) LoadTile(op, work, work.begin, shared.tile[0]);
  int turn = 0;
  SCANLINE_NO_UNROLL
  for (int begin = work.begin; begin < work.end; begin += Tile::kSteps, turn ^= 1) {
    CopyWait();
    SyncBlock();  // The tile is there for all, and nobody reads the other one any more.
    if (begin + Tile::kSteps < work.end) {
      LoadTile(op, work, begin + Tile::kSteps, shared.tile[turn ^ 1]);
    }
    const Tile& tile = shared.tile[turn];
    const int steps = work.end - begin < Tile::kSteps ? work.end - begin : Tile::kSteps;
    constexpr bool kCumulative = kPass == ScanPass::kCumulative;
    if constexpr (kPass == ScanPass::kStates) {
      RunTile<ScanRead::kNothing, false>(op, tile, begin, steps, skip, stride, lane, out);
    } else if (kPass != ScanPass::kOutput && masked) {  // The whole block is.
      RunTile<ScanRead::kBefore, kCumulative>(op, tile, begin, steps, skip, stride, lane, out);
    } else {
      RunTile<ScanRead::kAfter, kCumulative>(op, tile, begin, steps, skip, stride, lane, out);
    }
  }
  if constexpr (kPass == ScanPass::kStates) StoreEnd<kState>(op, work, lane);
}

// Both passes for activations of type T; op is checked.
template <typename T>
int LaunchScanOf(const Scan& op, CUstream_st* stream);

template <typename T, int kLanes, int kState>
int LaunchScanKernels(const Scan& op, CUstream_st* stream) {
  constexpr int kChannels = kScanThreads / kLanes;
  const auto blocks = static_cast<unsigned>((op.inner + kChannels - 1) / kChannels);
  const auto batch = static_cast<unsigned>(op.batch);
  const auto chunks = static_cast<unsigned>(op.plan.chunks);
  if (chunks > 1) {
    const int error = Launch(ScanKernel<T, kLanes, kState, ScanPass::kStates>,
                             {blocks, batch * (chunks - 1), 2}, kScanThreads, op, stream);
    if (error != cudaSuccess) return error;
  }
  auto* kernel = ScanKernel<T, kLanes, kState, ScanPass::kOutput>;
  if (op.mask_backward) kernel = ScanKernel<T, kLanes, kState, ScanPass::kMasked>;
  if (op.cumulative) kernel = ScanKernel<T, kLanes, kState, ScanPass::kCumulative>;
  return Launch(kernel, {blocks, batch * chunks, 2}, kScanThreads, op, stream);
}

template <typename T, int kState>
int LaunchScanLanes(const Scan& op, CUstream_st* stream) {
  if (op.plan.lanes == 1) return LaunchScanKernels<T, 1, kState>(op, stream);
  if (op.plan.lanes == 2) return LaunchScanKernels<T, 2, kState>(op, stream);
  return LaunchScanKernels<T, 4, kState>(op, stream);
}

}  // namespace scanline::cuda
