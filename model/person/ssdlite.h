#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/tensor_spec.h"

namespace scanline {

// SSDLite on MobileNetV2 (Sandler and others 2018, arXiv 1801.04381; Liu and others 2016,
// arXiv 1512.02325), as the TensorFlow Object Detection API builds it for 300 x 300 pictures and
// one class. The second door to Torch beside tensor_ops.cc: only ssdlite.cc includes it. May throw
// what Torch throws, or std::bad_alloc.
class Ssdlite {
 public:
  static constexpr int kSide = 300;         // of the picture
  static const std::vector<int>& Grids();   // cells a side of the six feature maps
  static const std::vector<int>& Shapes();  // anchors a cell of each

  // Every tensor of the network: NAME.weight [out, in / groups, height, width] and NAME.bias, batch
  // norms folded in.
  static std::vector<TensorSpec> ExpectedTensors();

  // `values` gives the numbers of each of ExpectedTensors() by its name; they are copied.
  explicit Ssdlite(const std::function<const float*(const std::string&)>& values);
  ~Ssdlite();

  // For each anchor, in MakeAnchors' order.
  struct Answer {
    std::vector<float> codes;   // [anchors][4]: for DecodeBox
    std::vector<float> logits;  // [anchors]: of being a person
  };
  // `picture`: [kSide][kSide][3] in [-1, 1]. The same bits for the same picture and number of
  // threads; may be called from several threads.
  Answer Run(const float* picture) const;

 private:
  struct Layers;
  std::unique_ptr<const Layers> layers_;
};

}  // namespace scanline
