#include "model/person/ssdlite.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace scanline {
namespace {

// MobileNetV2's blocks: input channels x expansion -> depthwise 3x3 -> output channels.
struct Block {
  int expanded;
  int out;
  int stride;
};
constexpr std::array<Block, 17> kBlocks = {{{32, 16, 1},
                                            {96, 24, 2},
                                            {144, 24, 1},
                                            {144, 32, 2},
                                            {192, 32, 1},
                                            {192, 32, 1},
                                            {192, 64, 2},
                                            {384, 64, 1},
                                            {384, 64, 1},
                                            {384, 64, 1},
                                            {384, 96, 1},
                                            {576, 96, 1},
                                            {576, 96, 1},
                                            {576, 160, 2},
                                            {960, 160, 1},
                                            {960, 160, 1},
                                            {960, 320, 1}}};
constexpr int kStem = 32;
constexpr int kLast = 1280;
// The first feature map is the expansion of this block, before its stride.
constexpr int kFirstMap = 13;
// Channels of the four smaller feature maps: reduced, then expanded with stride 2.
constexpr std::array<std::pair<int, int>, 4> kExtras = {
    {{256, 512}, {128, 256}, {128, 256}, {64, 128}}};
constexpr int kFirstExtra = 2;  // "extra2" makes map 2.

enum class Activation { kNone, kRelu6 };

struct Convolution {
  at::Tensor weight;
  at::Tensor bias;
};

// TensorFlow's SAME: as many outputs as strides start inside, and where the padding is odd the
// larger half comes last, which Torch's own padding cannot say.
std::pair<int64_t, int64_t> SamePadding(int64_t size, int64_t kernel, int64_t stride) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t all = std::max<int64_t>((outputs - 1) * stride + kernel - size, 0);
  return {all / 2, all - all / 2};
}

at::Tensor Apply(const Convolution& convolution, at::Tensor x, int64_t stride,
                 Activation activation) {
  const int64_t kernel = convolution.weight.size(2);
  const int64_t groups = x.size(1) / convolution.weight.size(1);
  auto [before, after] = SamePadding(x.size(2), kernel, stride);
  if (before != after) {
    x = at::constant_pad_nd(x, {before, after, before, after});
    before = 0;
  }
  at::Tensor y = at::conv2d(x, convolution.weight, convolution.bias, {stride, stride},
                            {before, before}, {1, 1}, groups);
  if (activation == Activation::kRelu6) y.clamp_(0, 6);
  return y;
}

at::Tensor Copy(const float* values, at::IntArrayRef shape) {
  // from_blob has no const form; the values are only read.
  return at::from_blob(const_cast<float*>(values), shape, at::kFloat).clone();
}

void AddSpec(std::vector<TensorSpec>* specs, const std::string& name, int64_t out, int64_t in,
             int64_t kernel) {
  specs->push_back({name + ".weight", {out, in, kernel, kernel}});
  specs->push_back({name + ".bias", {out}});
}

std::vector<float> Flatten(const std::vector<at::Tensor>& maps, int64_t columns, int64_t first,
                           int64_t count) {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& map : maps) {  // [1, shapes * columns, grid, grid]
    rows.push_back(map.permute({0, 2, 3, 1}).reshape({-1, columns}).narrow(1, first, count));
  }
  const at::Tensor all = at::cat(rows).contiguous();
  return {all.const_data_ptr<float>(), all.const_data_ptr<float>() + all.numel()};
}

}  // namespace

struct Ssdlite::Layers {
  std::map<std::string, Convolution> convolutions;

  at::Tensor Run(const std::string& name, const at::Tensor& x, int64_t stride = 1,
                 Activation activation = Activation::kRelu6) const {
    return Apply(convolutions.at(name), x, stride, activation);
  }

  std::vector<at::Tensor> FeatureMaps(const float* picture) const;
};

const std::vector<int>& Ssdlite::Grids() {
  static const std::vector<int> grids = {19, 10, 5, 3, 2, 1};
  return grids;
}

const std::vector<int>& Ssdlite::Shapes() {
  static const std::vector<int> shapes = {3, 6, 6, 6, 6, 6};
  return shapes;
}

std::vector<TensorSpec> Ssdlite::ExpectedTensors() {
  std::vector<TensorSpec> specs;
  AddSpec(&specs, "stem", kStem, 3, 3);
  int channels = kStem;
  for (size_t i = 0; i < kBlocks.size(); ++i) {
    const Block& block = kBlocks[i];
    const std::string name = absl::StrCat("block", i);
    if (block.expanded != channels) AddSpec(&specs, name + ".expand", block.expanded, channels, 1);
    AddSpec(&specs, name + ".depthwise", block.expanded, 1, 3);
    AddSpec(&specs, name + ".project", block.out, block.expanded, 1);
    channels = block.out;
  }
  AddSpec(&specs, "last", kLast, channels, 1);
  std::vector<int> maps = {kBlocks[kFirstMap].expanded, kLast};
  for (size_t i = 0; i < kExtras.size(); ++i) {
    const auto [narrow, wide] = kExtras[i];
    const std::string name = absl::StrCat("extra", kFirstExtra + i);
    AddSpec(&specs, name + ".reduce", narrow, maps.back(), 1);
    AddSpec(&specs, name + ".depthwise", narrow, 1, 3);
    AddSpec(&specs, name + ".expand", wide, narrow, 1);
    maps.push_back(wide);
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    for (const auto& [head, columns] : {std::pair("box", 4), std::pair("score", 2)}) {
      const std::string name = absl::StrCat(head, i);
      AddSpec(&specs, name + ".depthwise", maps[i], 1, 3);
      AddSpec(&specs, name + ".predict", Shapes()[i] * columns, maps[i], 1);
    }
  }
  return specs;
}

Ssdlite::Ssdlite(const std::function<const float*(const std::string&)>& values) {
  const c10::InferenceMode inference;
  auto layers = std::make_unique<Layers>();
  constexpr size_t kEnding = sizeof(".weight") - 1;
  for (const TensorSpec& spec : ExpectedTensors()) {
    if (spec.shape.size() != 4) continue;
    const std::string name = spec.name.substr(0, spec.name.size() - kEnding);
    // Channels last throughout: a picture comes so, and a 1x1 convolution is one matrix product.
    layers->convolutions[name] = {
        Copy(values(spec.name), spec.shape).contiguous(at::MemoryFormat::ChannelsLast),
        Copy(values(name + ".bias"), {spec.shape[0]})};
  }
  layers_ = std::move(layers);
}

Ssdlite::~Ssdlite() = default;

std::vector<at::Tensor> Ssdlite::Layers::FeatureMaps(const float* picture) const {
  const at::Tensor input = at::from_blob(const_cast<float*>(picture), {1, kSide, kSide, 3},
                                         at::kFloat);  // Only read.
  std::vector<at::Tensor> maps;
  at::Tensor x = Run("stem", input.permute({0, 3, 1, 2}), /*stride=*/2);
  for (size_t i = 0; i < kBlocks.size(); ++i) {
    const std::string name = absl::StrCat("block", i);
    at::Tensor y = kBlocks[i].expanded == x.size(1) ? x : Run(name + ".expand", x);
    if (i == kFirstMap) maps.push_back(y);
    y = Run(name + ".depthwise", y, kBlocks[i].stride);
    y = Run(name + ".project", y, /*stride=*/1, Activation::kNone);
    if (y.sizes() == x.sizes()) y += x;
    x = std::move(y);
  }
  maps.push_back(Run("last", x));
  for (size_t i = 0; i < kExtras.size(); ++i) {
    const std::string name = absl::StrCat("extra", kFirstExtra + i);
    x = Run(name + ".reduce", maps.back());
    x = Run(name + ".depthwise", x, /*stride=*/2);
    maps.push_back(Run(name + ".expand", x));
  }
  return maps;
}

Ssdlite::Answer Ssdlite::Run(const float* picture) const {
  const c10::InferenceMode inference;
  const std::vector<at::Tensor> maps = layers_->FeatureMaps(picture);
  std::vector<at::Tensor> boxes;
  std::vector<at::Tensor> scores;
  for (size_t i = 0; i < maps.size(); ++i) {
    for (const auto& [head, answers] : {std::pair("box", &boxes), std::pair("score", &scores)}) {
      const std::string name = absl::StrCat(head, i);
      answers->push_back(layers_->Run(name + ".predict", layers_->Run(name + ".depthwise", maps[i]),
                                      /*stride=*/1, Activation::kNone));
    }
  }
  // Column 0 of a score is "nothing", column 1 "person".
  return {Flatten(boxes, 4, 0, 4), Flatten(scores, 2, 1, 1)};
}

}  // namespace scanline
