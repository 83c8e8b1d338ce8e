#pragma once

#include <cstdint>

namespace scanline {

// out[r] = the dot product of row r of `rows` [count, dim] with `query` [dim]. Each row's value is
// the same whichever rows it is asked for with.
void DotRows(const float* rows, int64_t count, int dim, const float* query, float* out);

// The same without vector instructions: the specification, and what other CPUs than those with
// AVX2 and FMA use. Sums in double.
void DotRowsPlain(const float* rows, int64_t count, int dim, const float* query, float* out);

}  // namespace scanline
