#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/tensor_spec.h"
#include "nlohmann/json.hpp"
#include "tests/model/generator.h"
#include "tests/support/temp_folder.h"

namespace scanline::testing {

struct TensorToWrite {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

inline std::string WithHeader(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + data;
}

inline std::string SafetensorsBytes(const std::vector<TensorToWrite>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const TensorToWrite& tensor : tensors) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()),
                tensor.values.size() * sizeof(float));
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return WithHeader(header.dump(), data);
}

// A model that runs in microseconds: two frames of 8 x 8 pixels, three labels, all of it made.
class SmallBundle {
 public:
  SmallBundle() {
    config = nlohmann::json::parse(R"({
      "format": 1, "name": "small", "version": "7", "license": "none", "tasks": ["classify"],
      "backbone": {"arch": "videomamba", "embed_dim": 16, "depth": 2, "d_state": 8, "dt_rank": 1,
                   "patch": 4, "tubelet": 1, "frames": 2, "size": 8, "mixer": "videomamba",
                   "pool": "cls"},
      "preprocess": {"resize": "centre_square_area", "size": 8,
                     "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]},
      "sampling": {"rule": "uniform"},
      "classify": {"score": "softmax", "labels": "labels.txt", "label_index_offset": 10},
      "weights": {"file": "model.safetensors"}
    })");
    MakeTensors();
  }

  // Anew, for the sizes in `config`.
  void MakeTensors() {
    auto parsed = ParseModelConfig(config.dump());
    if (!parsed.ok()) throw std::runtime_error(parsed.status().ToString());
    parsed->classify.labels = {"a", "b", "c"};
    tensors.clear();
    const Weights weights = GenerateWeights(*parsed, 1);
    for (const auto& [name, tensor] : weights.tensors()) {
      tensors.push_back(
          {name, tensor.shape, {tensor.data.get(), tensor.data.get() + tensor.size()}});
    }
  }

  TensorToWrite& At(const std::string& name) {
    for (TensorToWrite& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }

  // Writes what the members say now; returns the folder.
  const std::string& Write() const {
    folder_.Write("config.json", config.dump());
    folder_.Write("labels.txt", labels);
    folder_.Write("model.safetensors", SafetensorsBytes(tensors));
    return folder_.path();
  }

  nlohmann::json config;
  std::string labels = "a\nb\nc\n";
  std::vector<TensorToWrite> tensors;

 private:
  TempFolder folder_;
};

}  // namespace scanline::testing
