#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// A CUDA runtime that is played on the CPU, for the engine's own code: the functions of
// cuda_runtime_api.h that it calls, and the kernels under the SIMT shim. What is put on streams
// runs as late as it may and in an order drawn from a seed, bounded by events and waits alone, so
// that a missing one is a wrong number. Memory starts as NaN, ends at a page that cannot be touched
// and is gone at once when freed, whatever still uses it. A stream that captures takes no kernel
// that was never launched, and a thread that captures none of the calls that are unsafe then. There
// is no cudaDeviceSynchronize: it would break the captures of other engines.

namespace scanline::testing {

class PlayedCuda {
 public:
  static constexpr int kDevice = 1;  // of two: the engine is to choose it in every thread

  static PlayedCuda& Get();

  // As a new machine, on which nothing lives.
  void Reset(uint64_t seed);
  // Another order from now on.
  void Reseed(uint64_t seed);

  size_t memory = SIZE_MAX;  // of the device
  int launch_error = 0;      // of every kernel
  std::map<std::string, int> calls;
  // What no program should do.
  std::vector<std::string> faults;

  // The next call of `name` after so many gives this error, or throws std::bad_alloc; "Matmul" is
  // cuBLASLt's.
  static constexpr int kThrow = -1;
  void Fail(const std::string& name, int error, int after = 0) { failures_[name] = {error, after}; }
  // From now on, or from the next call of `name` on, every call gives this sticky error.
  void Lose(int error);
  void LoseAt(const std::string& name, int error) { loses_[name] = error; }

  size_t bytes_in_use() const;
  // Streams, events, graphs and memory that nobody gave back.
  int alive() const;

  // For the played functions.
  int Begin(const std::string& name, bool unsafe = false);  // on the device of this thread
  int Call(const std::string& name, bool unsafe = false);   // that names its device itself
  int Error(int error);
  struct State;
  State& state() { return *state_; }

 private:
  PlayedCuda();

  struct Failure {
    int error = 0;
    int after = 0;  // calls
  };
  std::map<std::string, Failure> failures_;
  std::map<std::string, int> loses_;
  int lost_ = 0;
  State* state_;
};

}  // namespace scanline::testing
