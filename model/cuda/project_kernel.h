#pragma once

#include "model/cuda/device.h"

// Convolution, SiLU, x_proj, dt_proj and softplus of both directions in one kernel. A block has 64
// tokens of one sequence; four warps belong to each direction, 16 tokens to each of them. Channels
// pass by in pieces of 128 bytes: convolved into shared memory, then multiplied into the rows of
// x_proj, whose sums stay in registers. The rank's part goes back to shared memory as the left side
// of dt_proj.

namespace scanline::cuda {

inline constexpr int kProjectTokens = 64;
inline constexpr int kMostProjectionRows = ProjectionRows(kMostRank, 16);

template <typename T>
struct alignas(16) ProjectShared {
  static constexpr int kPiece = 128 / static_cast<int>(sizeof(T));  // channels at a time
  static constexpr int kPad = 16 / static_cast<int>(sizeof(T));     // keeps rows in other banks
  struct In {
    T c[2][kProjectTokens][kPiece + kPad];
    T x_proj[2][kMostProjectionRows][kPiece + kPad];
  };
  union {
    In in;
    T rank[2][kProjectTokens][kMostRank + kPad];
  };
};

// The left side of a product of a warp, 16 rows x 16 columns at `from`: fragments for the matrix
// instruction, or (fp32, which has none) where the rows are.
template <typename T>
struct LeftTile {
  const T* rows[2];
};
template <>
struct LeftTile<Bf16> {
  uint32_t a[4];
};

SCANLINE_DEVICE void LoadLeft(const float* from, int stride, LeftTile<float>& tile) {
  const int row = static_cast<int>(threadIdx.x % 32) / 4;
  tile.rows[0] = from + row * stride;
  tile.rows[1] = from + (row + 8) * stride;
}
SCANLINE_DEVICE void LoadLeft(const Bf16* from, int stride, LeftTile<Bf16>& tile) {
  const int row = static_cast<int>(threadIdx.x % 32) / 4;
  const int column = static_cast<int>(threadIdx.x % 4) * 2;
  SCANLINE_UNROLL
  for (int i = 0; i < 4; ++i) {
    tile.a[i] =
        *reinterpret_cast<const uint32_t*>(from + (row + i % 2 * 8) * stride + column + i / 2 * 8);
  }
}

// sums += left * right^T, 16 x 8, of which a lane has rows g and g + 8, columns 2q and 2q + 1
// (g = lane / 4, q = lane % 4). row_of(n) is where the 16 values of the right side's row n are.
template <typename RowOf>
SCANLINE_DEVICE void Multiply(const LeftTile<Bf16>& left, const RowOf& row_of, float (&sums)[4]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Bf16* right = row_of(lane / 4) + lane % 4 * 2;
  Mma(sums, left.a, *reinterpret_cast<const uint32_t*>(right),
      *reinterpret_cast<const uint32_t*>(right + 8));
}
template <typename RowOf>
SCANLINE_DEVICE void Multiply(const LeftTile<float>& left, const RowOf& row_of, float (&sums)[4]) {
  const int column = static_cast<int>(threadIdx.x % 4) * 2;
  const float* right[2] = {row_of(column), row_of(column + 1)};
  SCANLINE_NO_UNROLL
  for (int k = 0; k < 16; ++k) {
    SCANLINE_UNROLL
    for (int i = 0; i < 4; ++i) sums[i] = Fma(left.rows[i / 2][k], right[i % 2][k], sums[i]);
  }
}

// x_proj's rows of this piece of channels; what lies beside the channels is zero.
template <typename T>
SCANLINE_DEVICE void LoadProjection(const Project& op, int first, ProjectShared<T>& shared) {
  constexpr int kPerCopy = 16 / static_cast<int>(sizeof(T));
  const int rows = ProjectionRows(op.rank, op.state);
  const int copies = rows * 8;  // of a direction, 128 bytes a row
  SCANLINE_NO_UNROLL
  for (int at = static_cast<int>(threadIdx.x); at < op.directions * copies; at += blockDim.x) {
    const bool backward = at >= copies;
    const int row = at % copies / 8;
    const int column = at % 8 * kPerCopy;
    const bool valid = first + column < op.inner;
    const T* from = static_cast<const T*>(backward ? op.backward.x_proj : op.forward.x_proj);
    CopyAsync(&shared.in.x_proj[backward ? 1 : 0][row][column],
              from + static_cast<size_t>(row) * op.inner + (valid ? first + column : 0), valid);
  }
}

// A lane's channels of a piece: as many as four bytes hold.
template <typename T>
using Word = Vector<T, 4>;

template <typename T>
struct ConvTaps {
  float forward[Word<T>::kSize][kConvWidth];
  float backward[Word<T>::kSize][kConvWidth];
  float forward_bias[Word<T>::kSize];
  float backward_bias[Word<T>::kSize];
};

template <typename T>
SCANLINE_DEVICE void LoadTaps(const Project& op, int channel, ConvTaps<T>& taps) {
  SCANLINE_UNROLL
  for (int i = 0; i < Word<T>::kSize; ++i) {
    const bool alive = channel + i < op.inner;
    const bool both = alive && op.directions == 2;
    SCANLINE_UNROLL
    for (int k = 0; k < kConvWidth; ++k) {
      const int at = (channel + i) * kConvWidth + k;
      taps.forward[i][k] = alive ? op.forward.conv_weight[at] : 0.0F;
      taps.backward[i][k] = both ? op.backward.conv_weight[at] : 0.0F;
    }
    taps.forward_bias[i] = alive ? op.forward.conv_bias[channel + i] : 0.0F;
    taps.backward_bias[i] = both ? op.backward.conv_bias[channel + i] : 0.0F;
  }
}

// Both convolutions of a lane's channels at eight tokens of the block from `begin`, by a window of
// seven tokens that moves along.
template <typename T>
SCANLINE_DEVICE void ConvolveEight(const Project& op, const ConvTaps<T>& taps, size_t sequence_row,
                                   int first_token, int begin, int first,
                                   ProjectShared<T>& shared) {
  constexpr int kSize = Word<T>::kSize;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int channel = first + lane * kSize;
  const bool alive = channel < op.inner;
  const T* x = static_cast<const T*>(op.x);
  const auto read = [&](int token, float(&value)[kSize]) {
    const bool there = alive && token >= 0 && token < op.length;
    Word<T> word = {};
    if (there) word = LoadVector<4>(x + (sequence_row + token) * op.x_stride + channel);
    SCANLINE_UNROLL
    for (int i = 0; i < kSize; ++i) value[i] = ToFloat(word.at[i]);
  };
  const auto write = [&](int way, int in_tile, const Word<T>& word) {
    StoreVector<4>(&shared.in.c[way][in_tile][lane * kSize], word);
    T* out = static_cast<T*>(way == 1 ? op.backward.c : op.forward.c);
    const int token = first_token + in_tile;
    if (out == nullptr || !alive || token >= op.length) return;
    StoreVector<4>(out + (sequence_row + token) * op.inner + channel, word);
  };
  float window[7][kSize];  // tokens -3..3 about the one at hand
  SCANLINE_UNROLL
  for (int k = 0; k < 7; ++k) read(first_token + begin - 3 + k, window[k]);
  SCANLINE_NO_UNROLL  // The sums need the registers.
      for (int t = 0; t < 8; ++t) {
    Word<T> forward;
    Word<T> backward;
    SCANLINE_UNROLL
    for (int i = 0; i < kSize; ++i) {
      float ahead = taps.forward_bias[i];
      float back = taps.backward_bias[i];
      SCANLINE_UNROLL
      for (int k = 0; k < kConvWidth; ++k) {
        ahead = Fma(taps.forward[i][k], window[k][i], ahead);
        back = Fma(taps.backward[i][k], window[6 - k][i], back);
      }
      forward.at[i] = FromFloat<T>(Silu<T>(ahead));
      backward.at[i] = FromFloat<T>(Silu<T>(back));
    }
    write(0, begin + t, forward);
    if (op.directions == 2) write(1, begin + t, backward);
    if (t == 7) break;
    SCANLINE_UNROLL
    for (int k = 0; k < 6; ++k) {
      SCANLINE_UNROLL
      for (int i = 0; i < kSize; ++i) window[k][i] = window[k + 1][i];
    }
    read(first_token + begin + t + 4, window[6]);
  }
}

template <typename T>
SCANLINE_DEVICE void Convolve(const Project& op, size_t sequence_row, int first_token, int first,
                              ProjectShared<T>& shared) {
  const int warps = static_cast<int>(blockDim.x) / 32;
  ConvTaps<T> taps;
  LoadTaps<T>(op, first + static_cast<int>(threadIdx.x % 32) * Word<T>::kSize, taps);
  SCANLINE_NO_UNROLL
  for (int begin = static_cast<int>(threadIdx.x) / 32 * 8; begin < kProjectTokens;
       begin += warps * 8) {
    ConvolveEight(op, taps, sequence_row, first_token, begin, first, shared);
  }
}

// What a warp has: 16 tokens of one direction.
struct ProjectWork {
  bool backward;
  int first_row;  // of the warp, in the block's tokens
  int row;        // of the lane: this one and 8 more
  int column;     // of the lane in a tile: this one and the next
};

// B and C to memory, the rank's part to shared memory.
template <typename T, int kTiles>
SCANLINE_DEVICE void StoreSums(const Project& op, const ProjectWork& work, size_t sequence_row,
                               int first_token, const float (&sums)[kTiles][4],
                               ProjectShared<T>& shared) {
  const int padded = PaddedRank(op.rank);
  float* bc = work.backward ? op.backward.bc : op.forward.bc;
  SCANLINE_UNROLL
  for (int tile = 0; tile < kTiles; ++tile) {
    const int column = tile * 8 + work.column;
    if (column >= padded + 2 * op.state) break;
    SCANLINE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int in_tile = work.row + 8 * half;
      if (column < padded) {
        T* to = &shared.rank[work.backward ? 1 : 0][in_tile][column];
        to[0] = FromFloat<T>(sums[tile][2 * half]);
        to[1] = FromFloat<T>(sums[tile][2 * half + 1]);
      } else if (first_token + in_tile < op.length) {
        float* to = bc + (sequence_row + first_token + in_tile) * 2 * op.state + column - padded;
        StoreVector<8>(to, Vector<float, 8>{sums[tile][2 * half], sums[tile][2 * half + 1]});
      }
    }
  }
}

// dt of 16 channels from `first`. Columns of the two tiles stand for channels such that a lane has
// four neighbouring ones: column 2q + e of tile j is channel 4q + 2j + e.
template <typename T>
SCANLINE_DEVICE void ProjectSteps(const Project& op, const ProjectWork& work, size_t sequence_row,
                                  int first_token, int first,
                                  const LeftTile<T> (&left)[kMostRank / 16]) {
  const int padded = PaddedRank(op.rank);
  const T* weight = static_cast<const T*>(work.backward ? op.backward.dt_proj : op.forward.dt_proj);
  const float* bias = work.backward ? op.backward.dt_bias : op.forward.dt_bias;
  T* out = static_cast<T*>(work.backward ? op.backward.dt : op.forward.dt);
  float sums[2][4] = {};
  SCANLINE_UNROLL
  for (int k = 0; k < kMostRank / 16; ++k) {
    if (k * 16 >= padded) break;
    SCANLINE_UNROLL
    for (int tile = 0; tile < 2; ++tile) {
      Multiply(
          left[k],
          [&](int n) {
            const int channel = first + n / 2 * 4 + tile * 2 + n % 2;
            return weight + static_cast<size_t>(channel) * padded + k * 16;
          },
          sums[tile]);
    }
  }
  const int channel = first + 2 * work.column;
  const auto add = LoadVector<16>(bias + channel);
  SCANLINE_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int token = first_token + work.row + 8 * half;
    Vector<T, 4 * sizeof(T)> dt;
    SCANLINE_UNROLL
    for (int i = 0; i < 4; ++i) {
      dt.at[i] = FromFloat<T>(Softplus(sums[i / 2][2 * half + i % 2] + add.at[i]));
    }
    if (token < op.length) {
      StoreVector<4 * sizeof(T)>(out + (sequence_row + token) * op.inner + channel, dt);
    }
  }
}

// kTiles: of eight rows of x_proj, at least as many as there are.
template <typename T, int kTiles>
__global__ void __launch_bounds__(256, 2) ProjectKernel(const Project op) {
  constexpr int kPiece = ProjectShared<T>::kPiece;
  constexpr int kStride = kPiece + ProjectShared<T>::kPad;
  constexpr int kRankStride = kMostRank + ProjectShared<T>::kPad;
  SCANLINE_SHARED(ProjectShared<T>, shared);
  const int first_token = static_cast<int>(blockIdx.x) * kProjectTokens;
  const size_t sequence_row = static_cast<size_t>(blockIdx.y) * op.length;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const ProjectWork work = {.backward = warp >= 4,
                            .first_row = warp % 4 * 16,
                            .row = warp % 4 * 16 + lane / 4,
                            .column = lane % 4 * 2};
  const int way = work.backward ? 1 : 0;
  const int rows = ProjectionRows(op.rank, op.state);

  float sums[kTiles][4] = {};
  SCANLINE_NO_UNROLL
  for (int first = 0; first < op.inner; first += kPiece) {
    LoadProjection(op, first, shared);
    Convolve(op, sequence_row, first_token, first, shared);
    CopyWait();
    SyncBlock();
    SCANLINE_UNROLL
    for (int k = 0; k < kPiece; k += 16) {
      LeftTile<T> left;
      LoadLeft(&shared.in.c[way][work.first_row][k], kStride, left);
      SCANLINE_UNROLL
      for (int tile = 0; tile < kTiles; ++tile) {
        if (tile * 8 >= rows) break;
        Multiply(
            left, [&](int n) { return &shared.in.x_proj[way][tile * 8 + n][k]; }, sums[tile]);
      }
    }
    SyncBlock();  // The next piece takes the place of this one, and the rank's part that of the
                  // last.
  }
  StoreSums(op, work, sequence_row, first_token, sums, shared);
  SyncWarp();
  LeftTile<T> left[kMostRank / 16];
  SCANLINE_UNROLL
  for (int k = 0; k < kMostRank / 16; ++k) {
    if (k * 16 >= PaddedRank(op.rank)) break;
    LoadLeft(&shared.rank[way][work.first_row][k * 16], kRankStride, left[k]);
  }
  SCANLINE_NO_UNROLL
  for (int first = 0; first < op.inner; first += 16) {
    ProjectSteps<T>(op, work, sequence_row, first_token, first, left);
  }
}

// op is checked.
template <typename T>
int LaunchProjectOf(const Project& op, CUstream_st* stream) {
  const auto tiles = static_cast<unsigned>((op.length + kProjectTokens - 1) / kProjectTokens);
  // Tiny and Small have up to 64 rows; fp32 is not for speed.
  constexpr int kMost = kMostProjectionRows / 8;
  constexpr int kFew = sizeof(T) == 4 ? kMost : 8;
  const bool few = ProjectionRows(op.rank, op.state) <= 8 * kFew;
  return Launch(few ? ProjectKernel<T, kFew> : ProjectKernel<T, kMost>,
                {tiles, static_cast<unsigned>(op.batch), 1}, 128 * op.directions, op, stream);
}

}  // namespace scanline::cuda
