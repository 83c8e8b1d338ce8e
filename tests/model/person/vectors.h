#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/safetensors.h"

namespace scanline::testing {

// What TensorFlow says of the same graph: tests/data/person/README.md.
inline SafetensorsFile PersonVectors() {
  return ReadSafetensors(DataFolder("SCANLINE_PERSON_VECTORS", "tests/data/person") +
                         "/ssdlite.safetensors");
}

// The part of each tensor's name before `ending`, of those that have it. Throws where there is
// none, so that no test passes by looking at nothing.
inline std::vector<std::string> NamesBefore(const SafetensorsFile& file,
                                            const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& item : file.tensors) {
    const std::string& name = item.first;
    if (name.size() <= ending.size()) continue;
    const size_t at = name.size() - ending.size();
    if (name.compare(at, std::string::npos, ending) == 0) names.push_back(name.substr(0, at));
  }
  if (names.empty()) throw std::runtime_error("no tensor is called ..." + ending);
  return names;
}

}  // namespace scanline::testing
