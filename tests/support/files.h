#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace scanline::testing {

// A folder of test data: where the environment variable says, else `inside` the checkout.
inline std::string DataFolder(const char* variable, const std::string& inside) {
  const char* elsewhere = std::getenv(variable);
  return elsewhere != nullptr && *elsewhere != '\0' ? elsewhere : SCANLINE_SOURCE_DIR "/" + inside;
}

inline std::string ReferenceFolder() {
  return DataFolder("SCANLINE_REFERENCE_DIR", "tests/data/reference");
}
inline std::string ClipsFolder() { return DataFolder("SCANLINE_CLIPS_DIR", "tests/data/clips"); }

// A whole file. Throws where it cannot be read, so that missing data fails its test.
inline std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline int CountLines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace scanline::testing
