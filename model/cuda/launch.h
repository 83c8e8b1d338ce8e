#pragma once

#include <cstddef>
#include <cstdint>

// The own kernels of a VideoMamba pass on a GPU, for a batch of sequences of one length. Matrix
// products with large weights (patches, in_proj, out_proj) are the caller's, by cuBLASLt.
//
// Rows are tokens, channels contiguous, sequences one after the other: row = sequence * length +
// token. Pointers are device memory, aligned to 16 bytes; nothing here allocates, waits or logs.
// Every launch returns a cudaError_t: cudaErrorInvalidValue when a size is outside what is stated,
// else what the launch said. The bits of a sequence depend on its own numbers, the sizes and the
// ScanPlan, never on `batch`. Formulas: docs/models.md; specification: model/kernels/ops.h.
//
// None of this has run on a GPU yet: it compiles for the listed architectures, and its source is
// tested on the CPU through model/cuda/simt.h.

struct CUstream_st;  // What cudaStream_t points to.

namespace scanline::cuda {

// Of activations and of the matrices that multiply them. Sums, states and the residual are fp32.
enum class Element { kFloat32, kBfloat16 };

inline constexpr size_t SizeOf(Element type) { return type == Element::kFloat32 ? 4 : 2; }

inline constexpr int kConvWidth = 4;
inline constexpr int kMostRank = 64;  // of dt
inline constexpr int kMaxNormDim = 1024;

// Rank of dt in memory: columns of dt_proj and rows of x_proj are filled up with zeros to this.
inline constexpr int PaddedRank(int rank) { return (rank + 15) / 16 * 16; }
// Rows of x_proj in memory: PaddedRank of dt, then B, then C.
inline constexpr int ProjectionRows(int rank, int state) { return PaddedRank(rank) + 2 * state; }

// Patches of RGB bytes as rows of the patch product, in the order of the convolution's weight,
// [3][tubelet][patch][patch]: row (sequence * steps + step) * cells + cell holds byte - centre of
// its channel, exact in bf16 when `centre` is a whole number of 0..255. Normalisation belongs in
// the weights: w / (255 std), and bias - sum of w (mean - centre / 255) / std with w as rounded.
struct GatherPatches {
  Element type = Element::kBfloat16;
  int batch = 0;
  int frames = 0;  // a multiple of tubelet
  int height = 0;  // multiples of patch
  int width = 0;
  int patch = 16;
  int tubelet = 1;
  float centre[3] = {};
  // What stands where a picture shows nothing: 255 mean - centre, whose normalised value is 0.
  float padding[3] = {};
  const uint8_t* pictures = nullptr;  // [batch][frames][height][width][3]
  const int* areas = nullptr;         // [batch][2]: width and height of what is shown; none: all
  void* rows = nullptr;               // [batch * steps * cells][3 * tubelet * patch * patch]
};

// The residual stream before the first layer: row 0 of a sequence cls + space[0], row of (step,
// cell) ((patch + bias) + space[1 + cell]) + time[step].
struct Embed {
  int batch = 0;
  int steps = 0;
  int cells = 0;
  int dim = 0;
  bool temporal_first = false;     // row 1 + cell * steps + step; else 1 + step * cells + cell
  const float* patches = nullptr;  // [batch * steps * cells][dim]: the product, without bias
  const float* bias = nullptr;     // [dim]
  const float* cls = nullptr;      // [dim]
  const float* space = nullptr;    // [1 + cells][dim]
  const float* time = nullptr;     // [steps][dim], or none
  float* residual = nullptr;       // [batch][1 + steps * cells][dim]
};

// residual_out = residual + x, out = norm(residual_out) * weight + bias, for the first `rows` rows
// of each sequence. With `from`, row i of a sequence is made of its row from[i]: a change of scan
// order. dim is a multiple of 4, up to kMaxNormDim.
struct AddNorm {
  Element out_type = Element::kBfloat16;
  int batch = 0;
  int length = 0;  // rows of a sequence of x and residual
  int rows = 0;    // of a sequence, 1..length; out and residual_out hold these alone
  int dim = 0;
  bool layer_norm = false;
  float eps = 1e-5F;
  const float* residual = nullptr;
  const float* x = nullptr;       // or none: nothing is added
  const int* from = nullptr;      // [rows], or none
  const float* weight = nullptr;  // [dim]; none: 1, when it was folded into in_proj
  const float* bias = nullptr;    // [dim], or none
  float* residual_out = nullptr;  // [batch * rows][dim], or none; residual only without `from` and
                                  // with rows == length
  void* out = nullptr;            // [batch * rows][dim]
};

// c = SiLU(conv(x)), [r | B | C] = x_proj c, dt = softplus(dt_proj r + dt_bias), in one or both
// directions. The backward convolution looks at later tokens with reversed taps (CausalConv,
// `reverse`); rows stay where their tokens are.
struct ProjectDirection {
  const float* conv_weight = nullptr;  // [inner][kConvWidth]
  const float* conv_bias = nullptr;    // [inner]
  const void* x_proj = nullptr;        // [ProjectionRows][inner]
  const void* dt_proj = nullptr;       // [inner][PaddedRank]
  const float* dt_bias = nullptr;      // [inner]
  void* c = nullptr;                   // [rows][inner]; none: not wanted (raw scan input)
  void* dt = nullptr;                  // [rows][inner]: complete, bias and softplus done
  float* bc = nullptr;                 // [rows][2 state]: B, then C
};
struct Project {
  Element type = Element::kBfloat16;
  int batch = 0;
  int length = 0;
  int inner = 0;  // a multiple of 16
  int rank = 0;   // 1..kMostRank
  int state = 0;  // 8 or 16
  int directions = 2;
  const void* x = nullptr;   // [rows][x_stride], the first `inner` columns of in_proj's product
  ptrdiff_t x_stride = 0;    // elements; a multiple of 8
  ProjectDirection forward;  // the only one when directions == 1 (shared parameters)
  ProjectDirection backward;
};

// How a scan is cut. It is part of the sum order, so it must follow from model, length and server
// settings alone.
struct ScanPlan {
  int lanes = 1;   // 1, 2 or 4 threads a channel
  int chunks = 1;  // of the length, 1..kMostChunks; 1 with `cumulative`
};
inline constexpr int kMostChunks = 16;

// The cheapest plan that gives `multiprocessors` enough warps when `sequences` are scanned at
// once: lanes first, then chunks of at least 128 tokens. `sequences` is what the server is tuned
// for (1: latency), not what happens to be in the batch.
ScanPlan PlanScan(int inner, int length, int sequences, int multiprocessors, bool cumulative);

// Bytes of Scan::workspace.
size_t ScanWorkspaceBytes(const ScanPlan& plan, int batch, int inner, int state);

// The selective scan of both directions (SelectiveScan of ops.h after softplus); y of the backward
// one is not added to that of the forward one. With shared parameters both read the same inputs.
struct ScanDirection {
  const void* u = nullptr;    // [rows][u_stride]
  const void* dt = nullptr;   // [rows][inner], not negative
  const float* bc = nullptr;  // [rows][2 state]
  const float* a = nullptr;   // [inner][state]: -exp(A_log)
  const float* d = nullptr;   // [inner]
  void* y = nullptr;          // [rows][inner]
};
struct Scan {
  Element type = Element::kBfloat16;
  int batch = 0;
  int length = 0;
  int inner = 0;           // a multiple of 16
  int state = 0;           // 8 or 16
  ptrdiff_t u_stride = 0;  // elements; a multiple of 8
  ScanPlan plan;
  bool first_token_init = false;
  bool mask_backward = false;
  bool cumulative = false;
  ScanDirection forward;
  ScanDirection backward;
  float* workspace = nullptr;  // with chunks > 1
};

// out = (y_forward + y_backward) SiLU(z): what out_proj reads. out may be a y.
struct Gate {
  Element type = Element::kBfloat16;
  int rows = 0;
  int inner = 0;  // a multiple of 16
  const void* forward = nullptr;
  const void* backward = nullptr;
  const void* z = nullptr;  // [rows][z_stride], or none: no gate
  ptrdiff_t z_stride = 0;   // elements; a multiple of 8
  void* out = nullptr;      // [rows][inner]
};

int LaunchGatherPatches(const GatherPatches& op, CUstream_st* stream);
int LaunchEmbed(const Embed& op, CUstream_st* stream);
int LaunchAddNorm(const AddNorm& op, CUstream_st* stream);
int LaunchProject(const Project& op, CUstream_st* stream);
int LaunchScan(const Scan& op, CUstream_st* stream);  // two kernels with chunks > 1
int LaunchGate(const Gate& op, CUstream_st* stream);

}  // namespace scanline::cuda
