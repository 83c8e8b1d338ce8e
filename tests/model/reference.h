#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/weights.h"
#include "tests/support/safetensors.h"

// Reference vectors (tests/data/reference/README.md) as the tests of model/ want them.

namespace scanline::testing {

inline std::string ReferenceDir() {
  const char* dir = std::getenv("SCANLINE_REFERENCE_DIR");
  return dir != nullptr && *dir != '\0' ? dir : SCANLINE_SOURCE_DIR "/tests/data/reference";
}

inline SafetensorsFile ReadReference(const std::string& name) {
  return ReadSafetensors(ReferenceDir() + "/" + name + ".safetensors");
}

// Names (without the ending) that start with one of `prefixes`; throws when there are none.
inline std::vector<std::string> ReferenceNames(const std::vector<std::string>& prefixes) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ReferenceDir())) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = entry.path().stem().string();
    for (const std::string& prefix : prefixes) {
      if (name.rfind(prefix, 0) == 0) names.push_back(name);
    }
  }
  if (names.empty()) throw std::runtime_error("no vectors in " + ReferenceDir());
  std::sort(names.begin(), names.end());
  return names;
}

// The first parts of the tensors' names: "full_L65" of "full_L65.u".
inline std::vector<std::string> Cases(const SafetensorsFile& file) {
  std::set<std::string> cases;
  for (const auto& item : file.tensors) {
    const size_t dot = item.first.find('.');
    if (dot != std::string::npos) cases.insert(item.first.substr(0, dot));
  }
  if (cases.empty()) throw std::runtime_error("a file of vectors without cases");
  return {cases.begin(), cases.end()};
}

inline std::vector<float> Floats(const StoredTensor& tensor) {
  if (tensor.dtype == "F32") return tensor.values<float>();
  if (tensor.dtype == "F64") {
    const std::vector<double> values = tensor.values<double>();
    return {values.begin(), values.end()};
  }
  if (tensor.dtype != "BF16") throw std::runtime_error("no floats in " + tensor.dtype);
  std::vector<float> floats;
  for (uint16_t half : tensor.values<uint16_t>()) {
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    std::memcpy(&floats.emplace_back(), &bits, sizeof bits);
  }
  return floats;
}

// [rows][columns] -> [columns][rows], from `offset` on.
inline std::vector<float> Transposed(const std::vector<float>& values, size_t offset, size_t rows,
                                     size_t columns) {
  std::vector<float> result(rows * columns);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) result[c * rows + r] = values[offset + r * columns + c];
  }
  return result;
}

template <typename T>
std::vector<T> Part(const std::vector<T>& values, size_t offset, size_t count) {
  return {values.begin() + static_cast<ptrdiff_t>(offset),
          values.begin() + static_cast<ptrdiff_t>(offset + count)};
}

// max |a - b| / max |b|, the measure of the README's tolerances; NaN is infinitely far.
template <typename A, typename B>
double RelMax(const std::vector<A>& got, const std::vector<B>& want) {
  if (got.size() != want.size()) throw std::runtime_error("lengths differ");
  double difference = 0;
  double magnitude = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    difference = std::isnan(d) ? HUGE_VAL : std::max(difference, d);
    magnitude = std::max(magnitude, std::abs(static_cast<double>(want[i])));
  }
  return magnitude == 0 ? difference : difference / magnitude;
}

template <typename A, typename B>
double MaxDifference(const std::vector<A>& got, const std::vector<B>& want) {
  if (got.size() != want.size()) throw std::runtime_error("lengths differ");
  double difference = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    difference = std::isnan(d) ? HUGE_VAL : std::max(difference, d);
  }
  return difference;
}

// The tensors whose names start with `prefix`, without it.
inline Weights WeightsUnder(const SafetensorsFile& file, const std::string& prefix) {
  Weights weights;
  for (const auto& [name, tensor] : file.tensors) {
    if (name.rfind(prefix, 0) != 0) continue;
    weights.Add(name.substr(prefix.size()), tensor.shape, Floats(tensor));
  }
  return weights;
}

}  // namespace scanline::testing
