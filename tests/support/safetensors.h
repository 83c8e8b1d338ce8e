#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace scanline::testing {

// One tensor of a .safetensors file: row-major, little-endian bytes as stored.
struct StoredTensor {
  std::string dtype;  // "F32", "F64", "BF16", "I64", "I32", "U8", ...
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }

  // The values as T, whose width must be the stored one: values<float>() of an "F32".
  template <typename T>
  std::vector<T> values() const {
    if (bytes.size() != static_cast<size_t>(size()) * sizeof(T)) {
      throw std::runtime_error("a tensor of dtype " + dtype + " read with another element width");
    }
    std::vector<T> out(static_cast<size_t>(size()));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

struct SafetensorsFile {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"

  bool has(const std::string& name) const { return tensors.count(name) != 0; }
  const StoredTensor& at(const std::string& name) const {
    const auto it = tensors.find(name);
    if (it == tensors.end()) throw std::runtime_error("no tensor named " + name);
    return it->second;
  }
};

// Reads a whole file. Throws std::runtime_error (or a JSON error) that names the file, so that a
// missing vector fails its test.
inline SafetensorsFile ReadSafetensors(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  uint64_t header_size = 0;
  if (all.size() < sizeof(header_size)) throw std::runtime_error(path + " is too short");
  std::memcpy(&header_size, all.data(), sizeof(header_size));
  if (header_size > all.size() - sizeof(header_size)) {
    throw std::runtime_error(path + ": the header is longer than the file");
  }
  const char* header = all.data() + sizeof(header_size);
  const size_t data_size = all.size() - sizeof(header_size) - header_size;

  SafetensorsFile file;
  const auto index = nlohmann::json::parse(header, header + header_size);
  for (const auto& [name, entry] : index.items()) {
    if (name == "__metadata__") {
      file.metadata = entry.get<std::map<std::string, std::string>>();
      continue;
    }
    const auto offsets = entry.at("data_offsets").get<std::pair<uint64_t, uint64_t>>();
    if (offsets.first > offsets.second || offsets.second > data_size) {
      throw std::runtime_error(path + ": the bytes of " + name + " lie outside the file");
    }
    const auto* data = reinterpret_cast<const uint8_t*>(header + header_size);
    file.tensors[name] = {entry.at("dtype").get<std::string>(),
                          entry.at("shape").get<std::vector<int64_t>>(),
                          {data + offsets.first, data + offsets.second}};
  }
  return file;
}

}  // namespace scanline::testing
