#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// The deterministic generator of tests/data/reference/README.md: values that any program can make
// again from a tensor's name, its shape and a seed.

namespace scanline::testing {

inline uint64_t NameHash(const std::string& name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

inline uint64_t Mixed(uint64_t state, uint64_t index) {  // SplitMix64
  uint64_t z = state + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

inline double Uniform(const std::string& name, uint64_t seed, uint64_t index) {
  return static_cast<double>(Mixed(NameHash(name) ^ seed, index) >> 40) * 0x1p-24;
}

struct Spread {
  double offset;
  double scale;
};

inline bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

inline bool IsLogA(const std::string& name) {
  return EndsWith(name, "A_log") || EndsWith(name, "A_b_log");
}

inline Spread SpreadOf(const std::string& name, const std::vector<int64_t>& shape) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  double fan_in = 1;
  for (size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
  if (name == "input") return {0, 2};
  if (name == "temp") return {0.07, 0};
  if (IsLogA(name)) return {0, 0.1};  // The offset depends on the state.
  if (EndsWith(name, ".D") || EndsWith(name, ".D_b")) return {1, 0.1};
  if (has("dt_proj")) {
    if (EndsWith(name, ".bias")) return {-4, 2};
    return {0, std::pow(static_cast<double>(shape[1]), -0.5)};
  }
  if (has("conv1d")) return {0, EndsWith(name, ".bias") ? 0.1 : 0.5};
  if (name == "cls_token" || name == "pos_embed" || name == "temporal_pos_embedding") {
    return {0, 0.2};
  }
  if (EndsWith(name, ".bias")) return {0, 0.1};
  if (shape.size() == 1) return {1, 0.1};
  if (shape.size() == 2 && has("embeddings")) return {0, 0.2};
  if (EndsWith(name, "out_proj.weight")) return {0, 0.5 * std::sqrt(3 / fan_in)};
  return {0, std::sqrt(3 / fan_in)};
}

inline std::vector<float> Generate(const std::string& name, const std::vector<int64_t>& shape,
                                   uint64_t seed) {
  int64_t count = 1;
  for (int64_t side : shape) count *= side;
  const Spread spread = SpreadOf(name, shape);
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double offset =
        IsLogA(name) ? std::log(static_cast<double>(i % shape[1]) + 1) : spread.offset;
    const double u = Uniform(name, seed, static_cast<uint64_t>(i));
    values[i] = static_cast<float>(offset + spread.scale * (2 * u - 1));
  }
  return values;
}

}  // namespace scanline::testing
