#pragma once

#include <cstdint>

#include "model/cuda/launch.h"

// What the kernels use of a GPU, behind names that both nvcc and (through simt.h) a C++ compiler
// understand: barriers, shuffles, asynchronous copies, the matrix instruction, fast functions.
// A kernel takes one struct by value; its shared memory is one struct, SCANLINE_SHARED.

#ifdef __CUDACC__
#define SCANLINE_DEVICE __device__ __forceinline__
#define SCANLINE_SHARED(type, name)                                               \
  static_assert(alignof(type) >= 16, "asynchronous copies and vectors go there"); \
  __shared__ type name
#define SCANLINE_UNROLL _Pragma("unroll")
#define SCANLINE_NO_UNROLL _Pragma("unroll 1")
#else
#include "model/cuda/simt.h"
#define SCANLINE_DEVICE inline
#define SCANLINE_SHARED(type, name) type& name = ::scanline::simt::Shared<type>()
#define SCANLINE_UNROLL
#define SCANLINE_NO_UNROLL
#endif

namespace scanline::cuda {

struct Bf16 {
  uint16_t bits;
};

#ifdef __CUDACC__

#define SyncBlock() __syncthreads()
#define SyncWarp() __syncwarp()
#define ShuffleXor(value, mask) __shfl_xor_sync(0xFFFFFFFFU, value, mask)

SCANLINE_DEVICE float AsFloat(uint32_t bits) { return __uint_as_float(bits); }
SCANLINE_DEVICE uint32_t AsBits(float value) { return __float_as_uint(value); }
SCANLINE_DEVICE float Fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }

// 2^x, off by 2 units in the last place; subnormal results are 0.
SCANLINE_DEVICE float Ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Off by up to 5e-4: for bf16 alone.
SCANLINE_DEVICE float TanhFast(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
SCANLINE_DEVICE float ReciprocalRoot(float x) { return 1.0F / sqrtf(x); }

// Two floats as bf16, rounded to nearest even; `low` in the lower half.
SCANLINE_DEVICE uint32_t PackBf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// 16 bytes from global to shared memory, or 16 zero bytes; done when CopyWait says so.
SCANLINE_DEVICE void CopyAsync(void* shared, const void* global, bool valid) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes)
               : "memory");
}
// Waits for all of this thread's copies; those of others need a barrier after it.
#define CopyWait() asm volatile("cp.async.wait_all;" ::: "memory")

// c += a b of a warp: 16 x 16 times 16 x 8, layout of mma.sync.m16n8k16.
SCANLINE_DEVICE void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <typename Op>
int Launch(void (*kernel)(Op), dim3 grid, int threads, const Op& op, CUstream_st* stream) {
  kernel<<<grid, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#else

#define SyncBlock() ::scanline::simt::SyncBlock(__FILE__, __LINE__)
#define SyncWarp() ::scanline::simt::SyncWarp(__FILE__, __LINE__)
#define ShuffleXor(value, mask) ::scanline::simt::ShuffleXor(value, mask, __FILE__, __LINE__)
#define CopyWait() ::scanline::simt::CopyWait(__FILE__, __LINE__)

using simt::AsBits;
using simt::AsFloat;
using simt::CopyAsync;
using simt::dim3;
using simt::Ex2;
using simt::Fma;
using simt::Launch;
using simt::Mma;
using simt::PackBf16;
using simt::ReciprocalRoot;
using simt::TanhFast;

#endif

SCANLINE_DEVICE float ToFloat(float value) { return value; }
SCANLINE_DEVICE float ToFloat(Bf16 value) { return AsFloat(uint32_t{value.bits} << 16); }

template <typename T>
SCANLINE_DEVICE T FromFloat(float value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else {
    return {static_cast<uint16_t>(PackBf16(value, 0.0F))};
  }
}

// As many elements as fit into `kBytes`, moved at once; addresses are multiples of kBytes.
template <typename T, int kBytes>
struct alignas(kBytes) Vector {
  static constexpr int kSize = kBytes / static_cast<int>(sizeof(T));
  T at[kSize];
};
template <int kBytes, typename T>
SCANLINE_DEVICE Vector<T, kBytes> LoadVector(const T* from) {
  return *reinterpret_cast<const Vector<T, kBytes>*>(from);
}
template <int kBytes, typename T>
SCANLINE_DEVICE void StoreVector(T* to, const Vector<T, kBytes>& value) {
  *reinterpret_cast<Vector<T, kBytes>*>(to) = value;
}

inline constexpr float kLog2E = 1.44269504F;

// x / (1 + exp(-x)).
template <typename T>
SCANLINE_DEVICE float Silu(float x) {
  if constexpr (sizeof(T) == 4) {
    return x / (1.0F + Ex2(-kLog2E * x));
  } else {  // One fast function instead of two.
    const float half = 0.5F * x;
    return Fma(half, TanhFast(half), half);
  }
}

// log(1 + exp(v)) as max(v, 0) + log1p(exp(-|v|)), with log1p(e) = e p(e) on [0, 1]: a relative
// error below 3e-7 where dt is small too, which log(1 + e) would lose.
SCANLINE_DEVICE float Softplus(float v) {
  const float e = Ex2(-kLog2E * (v < 0.0F ? -v : v));
  float p = 0.00523269456F;
  p = Fma(p, e, -0.0295052435F);
  p = Fma(p, e, 0.0782259628F);
  p = Fma(p, e, -0.136632472F);
  p = Fma(p, e, 0.191060081F);
  p = Fma(p, e, -0.24842982F);
  p = Fma(p, e, 0.333190978F);
  p = Fma(p, e, -0.499994934F);
  p = Fma(p, e, 0.99999994F);
  return (v > 0.0F ? v : 0.0F) + e * p;
}

}  // namespace scanline::cuda
