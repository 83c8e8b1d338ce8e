#pragma once

#include <functional>

struct CUstream_st;

namespace scanline::simt {

// Takes a launch instead of running it at once: `run` runs the grid. Returns a cudaError_t.
using StreamHook =
    std::function<int(CUstream_st* stream, const void* kernel, std::function<void()> run)>;

// Where launches go from now on, in every thread; none: they run at once.
void SetStreamHook(StreamHook hook);
int OnStream(CUstream_st* stream, const void* kernel, std::function<void()> run);

}  // namespace scanline::simt
