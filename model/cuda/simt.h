#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "model/cuda/simt_stream.h"

// The kernels' source on a CPU, unchanged: every CUDA thread of a block is a fiber, blocks run one
// after another. The fibers take turns at barriers, shuffles and matrix instructions, in an order
// drawn from a seed, so that a missing barrier shows as a wrong number under some seed. Sanitizers
// see every access; shared memory starts as NaN and ends at a page that cannot be touched, and an
// asynchronous copy happens as late as it may. It does not show what the hardware's weaker memory
// order does; its approximate functions are exact, or wrong by as much as they may be.

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names
#define __global__
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)
#define threadIdx (::scanline::simt::Here().thread)
#define blockIdx (::scanline::simt::Here().block)
#define blockDim (::scanline::simt::Here().block_size)
#define gridDim (::scanline::simt::Here().grid_size)

namespace scanline::simt {

struct dim3 {  // NOLINT(readability-identifier-naming): CUDA's own name
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

struct Place {
  dim3 thread;
  dim3 block;
  dim3 block_size;
  dim3 grid_size;
};

// How launches run from now on, in this OS thread.
struct Options {
  uint64_t seed = 0;
  // "file:line" of a barrier, warp barrier or CopyWait that threads run past, to see whether the
  // tests would notice; empty: none. The file is the last part of its path.
  std::string ignore;
  // Ex2 and TanhFast are off by as much as the PTX ISA allows, up or down as their argument falls,
  // and Ex2 takes subnormal numbers for 0.
  bool approximate = false;
};
void SetOptions(const Options& options);

// Sites of barriers, warp barriers and CopyWaits passed since SetOptions, as `ignore` takes them.
const std::set<std::string>& SyncSites();

// Runs kernel(op) for every thread of the grid. Throws std::runtime_error, which names the thread
// and the sites, for what a GPU may hang on or leave undefined: threads of a block at different
// barriers or some of them ended, lanes of a warp that do not meet, copies never waited for.
void Run(dim3 grid, int threads, const std::function<void()>& kernel);

template <typename Op>
int Launch(void (*kernel)(Op), dim3 grid, int threads, const Op& op, CUstream_st* stream) {
  return OnStream(stream, reinterpret_cast<const void*>(kernel),
                  [=] { Run(grid, threads, [&] { kernel(op); }); });
}

// What kernels call, through device.h.
const Place& Here();
void* SharedBytes(size_t bytes);
void SyncBlock(const char* file, int line);
void SyncWarp(const char* file, int line);
void CopyAsync(void* shared, const void* global, bool valid);
void CopyWait(const char* file, int line);
// Gives `bytes` of this lane to the warp and returns those of all 32 lanes, one after another;
// good until the lane's next exchange.
const std::byte* Exchange(const void* mine, size_t bytes, const char* file, int line);

template <typename Type>
Type& Shared() {
  static_assert(alignof(Type) >= 16, "asynchronous copies and vectors go there");
  return *static_cast<Type*>(SharedBytes(sizeof(Type)));
}

template <typename Value>
Value ShuffleXor(Value mine, int mask, const char* file, int line) {
  const std::byte* all = Exchange(&mine, sizeof(mine), file, line);
  const size_t lane = (Here().thread.x % 32) ^ static_cast<unsigned>(mask);
  std::memcpy(&mine, all + lane * sizeof(mine), sizeof(mine));
  return mine;
}

float AsFloat(uint32_t bits);
uint32_t AsBits(float value);
float Fma(float a, float b, float c);
float Ex2(float x);
float TanhFast(float x);
float ReciprocalRoot(float x);
uint32_t PackBf16(float low, float high);
void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

}  // namespace scanline::simt

// The runtime's own names that launchers use.
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
