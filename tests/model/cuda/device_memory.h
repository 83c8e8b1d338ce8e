#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "model/cuda/launch.h"
#include "model/cuda/simt.h"

// Memory and numbers for kernels that run on the shim.

namespace scanline::cuda::testing {

// `count` values that end at a page which cannot be touched (but for filling up to 16 bytes), all
// of them NaN at first: what a kernel reads past its end kills the test, what it forgets to write
// shows.
template <typename T>
class Device {
 public:
  explicit Device(size_t count) : count_(count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = (count * sizeof(T) + 15) / 16 * 16;
    whole_ = (bytes + page - 1) / page * page + page;
    void* base = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(base);
    mprotect(base_ + whole_ - page, page, PROT_NONE);
    begin_ = reinterpret_cast<T*>(base_ + whole_ - page - bytes);
    std::memset(static_cast<void*>(begin_), 0xFF, bytes);
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    if (count_ > 0) std::memcpy(begin_, values.data(), count_ * sizeof(T));
  }
  ~Device() { munmap(base_, whole_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* get() { return begin_; }
  size_t size() const { return count_; }
  std::vector<T> values() const { return {begin_, begin_ + count_}; }

 private:
  std::byte* base_ = nullptr;
  T* begin_ = nullptr;
  size_t count_ = 0;
  size_t whole_ = 0;
};

// Activations of either type; takes and gives floats.
class Activations {
 public:
  Activations(Element type, size_t count) : type_(type), bytes_(count * SizeOf(type)) {}
  Activations(Element type, const std::vector<float>& values) : Activations(type, values.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (type_ == Element::kFloat32) {
        std::memcpy(bytes_.get() + 4 * i, &values[i], 4);
      } else {
        const auto half = static_cast<uint16_t>(simt::PackBf16(values[i], 0));
        std::memcpy(bytes_.get() + 2 * i, &half, 2);
      }
    }
  }

  void* get() { return bytes_.get(); }
  std::vector<uint8_t> bytes() const { return bytes_.values(); }
  std::vector<float> values() const {
    const std::vector<uint8_t> bytes = bytes_.values();
    std::vector<float> values(bytes.size() / SizeOf(type_));
    for (size_t i = 0; i < values.size(); ++i) {
      if (type_ == Element::kFloat32) {
        std::memcpy(&values[i], bytes.data() + 4 * i, 4);
      } else {
        uint16_t half = 0;
        std::memcpy(&half, bytes.data() + 2 * i, 2);
        values[i] = simt::AsFloat(uint32_t{half} << 16);
      }
    }
    return values;
  }
  std::vector<double> doubles() const {
    const std::vector<float> floats = values();
    return {floats.begin(), floats.end()};
  }

 private:
  Element type_;
  Device<uint8_t> bytes_;
};

// Numbers between `low` and `high`, the same for the same seed.
inline std::vector<float> Numbers(size_t count, uint64_t seed, float low, float high) {
  std::vector<float> values(count);
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 0x1234567;
  for (float& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = low + (high - low) * static_cast<float>(state >> 40) / 16777216.0F;
  }
  return values;
}

inline std::vector<double> Doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Where `got` is further from `want` than relative * |want| + absolute; empty: nowhere. NaN is far.
inline std::string FirstDifference(const std::vector<float>& got, const std::vector<double>& want,
                                   double relative, double absolute) {
  if (got.size() != want.size()) return "sizes differ";
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - want[i]) <= relative * std::abs(want[i]) + absolute) continue;
    return "at " + std::to_string(i) + ": " + std::to_string(got[i]) + " instead of " +
           std::to_string(want[i]);
  }
  return "";
}

// What sums in fp32 may be off by, when the largest of their values is that of `want`.
inline double SumError(const std::vector<double>& want) {
  double largest = 1;
  for (const double value : want) largest = std::max(largest, std::abs(value));
  return 2e-6 * largest;
}

// Rounding of a stored activation: half a unit in the last place.
inline double Rounding(Element type) { return type == Element::kFloat32 ? 6e-8 : 1.0 / 256; }

}  // namespace scanline::cuda::testing
