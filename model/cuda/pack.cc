#include "model/cuda/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"

namespace scanline::cuda {
namespace {

size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Values one after the other, each at a multiple of kAlignment.
class Packer {
 public:
  Packer(const Weights& weights, Element type) : weights_(weights), type_(type) {}

  size_t Add(absl::Span<const float> values, Element type) {
    const size_t at = bytes_.size();
    bytes_.resize(Rounded(at + values.size() * SizeOf(type)));
    if (type == Element::kFloat32) {
      std::memcpy(&bytes_[at], values.data(), values.size() * sizeof(float));
      return at;
    }
    auto* to = reinterpret_cast<uint16_t*>(&bytes_[at]);
    std::transform(values.begin(), values.end(), to, ToBf16);
    return at;
  }
  size_t Vector(const std::string& name) { return Add(Values(name), Element::kFloat32); }
  size_t Matrix(const std::string& name) { return Add(Values(name), type_); }
  size_t VectorIfThere(const std::string& name) {
    return weights_.Has(name) ? Vector(name) : kNone;
  }

  absl::Span<const float> Values(const std::string& name) const {
    const Tensor& tensor = weights_.Get(name);
    return {tensor.data.get(), static_cast<size_t>(tensor.size())};
  }
  Element type() const { return type_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  const Weights& weights_;
  Element type_;
  std::vector<uint8_t> bytes_;
};

size_t PackA(Packer* packer, const std::string& name) {
  std::vector<float> a;
  for (float log : packer->Values(name)) a.push_back(-std::exp(log));
  return packer->Add(a, Element::kFloat32);
}

// x_proj: rows of dt filled up with zeros to PaddedRank, then B and C. dt_proj: columns likewise.
DirectionAt PackDirection(Packer* packer, const BackboneConfig& config, const std::string& prefix,
                          const std::string& suffix, const std::string& a_log) {
  const size_t inner = config.d_inner();
  const size_t rank = config.dt_rank;
  const size_t padded = PaddedRank(config.dt_rank);
  const auto x_proj = packer->Values(prefix + "x_proj" + suffix + ".weight");
  std::vector<float> rows(ProjectionRows(config.dt_rank, config.d_state) * inner);
  std::copy(x_proj.begin(), x_proj.begin() + static_cast<ptrdiff_t>(rank * inner), rows.begin());
  std::copy(x_proj.begin() + static_cast<ptrdiff_t>(rank * inner), x_proj.end(),
            rows.begin() + static_cast<ptrdiff_t>(padded * inner));
  const auto dt_proj = packer->Values(prefix + "dt_proj" + suffix + ".weight");
  std::vector<float> columns(inner * padded);
  for (size_t i = 0; i < inner; ++i) {
    std::copy_n(dt_proj.begin() + static_cast<ptrdiff_t>(i * rank), rank,
                columns.begin() + static_cast<ptrdiff_t>(i * padded));
  }
  return {.conv_weight = packer->Vector(prefix + "conv1d" + suffix + ".weight"),
          .conv_bias = packer->Vector(prefix + "conv1d" + suffix + ".bias"),
          .x_proj = packer->Add(rows, packer->type()),
          .dt_proj = packer->Add(columns, packer->type()),
          .dt_bias = packer->Vector(prefix + "dt_proj" + suffix + ".bias"),
          .a = PackA(packer, prefix + a_log),
          .d = packer->Vector(prefix + "D" + suffix)};
}

LayerAt PackLayer(Packer* packer, const BackboneConfig& config, int layer) {
  const std::string block = absl::StrCat("layers.", layer, ".");
  const std::string mixer = block + "mixer.";
  LayerAt at{
      .norm_weight = packer->Vector(block + "norm.weight"),
      .norm_bias = config.norm == NormKind::kLayer ? packer->Vector(block + "norm.bias") : kNone,
      .in_proj = packer->Matrix(mixer + "in_proj.weight"),
      .out_proj = packer->Matrix(mixer + "out_proj.weight"),
      .forward = PackDirection(packer, config, mixer, "", "A_log")};
  if (config.mixer.shared) {
    at.backward = at.forward;
    at.backward.a = PackA(packer, mixer + "A_b_log");
  } else {
    at.backward = PackDirection(packer, config, mixer, "_b", "A_b_log");
  }
  return at;
}

float AsStored(float value, Element type) {
  if (type == Element::kFloat32) return value;
  const uint32_t bits = uint32_t{ToBf16(value)} << 16;
  float stored = 0;
  std::memcpy(&stored, &bits, sizeof stored);
  return stored;
}

// sum w (byte / 255 - mean) / std + bias = sum v (byte - 128) + (bias - sum v (255 mean - 128))
// with v = w / (255 std), rounded as it is stored.
PatchAt PackPictures(Packer* packer, const BackboneConfig& config, const PixelNorm& norm) {
  const auto weight = packer->Values("patch_embed.proj.weight");
  const auto bias = packer->Values("patch_embed.proj.bias");
  const auto length = static_cast<size_t>(PatchLength(config));
  std::vector<float> scaled(weight.size());
  std::vector<float> shifted(bias.begin(), bias.end());
  for (size_t row = 0; row < shifted.size(); ++row) {
    double sum = 0;
    for (size_t i = 0; i < length; ++i) {
      const size_t channel = i / (length / 3);
      float& value = scaled[row * length + i];
      value = AsStored(weight[row * length + i] / (255.0F * norm.std[channel]), packer->type());
      sum += double{value} * (255.0 * norm.mean[channel] - kPixelCentre);
    }
    shifted[row] = static_cast<float>(shifted[row] - sum);
  }
  return {.weight = packer->Add(scaled, packer->type()),
          .bias = packer->Add(shifted, Element::kFloat32)};
}

}  // namespace

absl::Status CheckBackbone(const BackboneConfig& config) {
  const auto refuse = [](const std::string& what) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("the CUDA engine does not take this model: ", what,
                                  "; run it with device cpu"));
  };
  if (config.d_conv != kConvWidth) {
    return refuse(absl::StrCat("d_conv is ", config.d_conv, ", expected ", kConvWidth));
  }
  if (config.d_state != 8 && config.d_state != 16) {
    return refuse(absl::StrCat("d_state is ", config.d_state, ", expected 8 or 16"));
  }
  if (config.dt_rank > kMostRank) {
    return refuse(absl::StrCat("dt_rank is ", config.dt_rank, ", expected up to ", kMostRank));
  }
  if (config.d_inner() % 16 != 0) {
    return refuse(absl::StrCat("its width is ", config.d_inner(), ", expected a multiple of 16"));
  }
  // A row of a matrix product begins at 16 bytes.
  if (PatchLength(config) % 8 != 0) {
    return refuse(
        absl::StrCat("a patch has ", PatchLength(config), " values, expected a multiple of 8"));
  }
  if (config.embed_dim % 8 != 0 || config.embed_dim > kMaxNormDim) {
    return refuse(absl::StrCat("embed_dim is ", config.embed_dim,
                               ", expected a multiple of 8 up to ", kMaxNormDim));
  }
  return absl::OkStatus();
}

uint16_t ToBf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);  // NaN
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

PackedWeights PackWeights(const BackboneConfig& config, const PixelNorm& norm,
                          const Weights& weights, Element type) {
  Packer packer(weights, type);
  PackedWeights packed;
  for (int channel = 0; channel < 3; ++channel) {
    packed.padding[channel] = 255.0F * norm.mean[channel] - kPixelCentre;
  }
  packed.pictures = PackPictures(&packer, config, norm);
  packed.values = {.weight = packer.Matrix("patch_embed.proj.weight"),
                   .bias = packer.Vector("patch_embed.proj.bias")};
  packed.cls = packer.Vector("cls_token");
  packed.time = packer.VectorIfThere("temporal_pos_embedding");
  for (int i = 0; i < config.depth; ++i) {
    packed.layers.push_back(PackLayer(&packer, config, i));
  }
  packed.final_weight = packer.Vector("norm_f.weight");
  if (config.norm == NormKind::kLayer) packed.final_bias = packer.Vector("norm_f.bias");
  packed.bytes = packer.Take();
  return packed;
}

PassAt PlacePass(const BackboneConfig& config, Element type, const ScanPlan& scan, int bucket,
                 size_t workspace_bytes) {
  const size_t views = bucket;
  const size_t rows = views * config.tokens();
  const size_t inner = rows * config.d_inner();
  const size_t dim = rows * config.embed_dim;
  const size_t element = SizeOf(type);
  const size_t patches = views * (config.tokens() - 1);
  size_t next = 0;
  const auto place = [&next](size_t bytes) {
    const size_t at = next;
    next += Rounded(bytes);
    return at;
  };
  PassAt at;
  at.residual = place(dim * sizeof(float));
  at.moved =
      config.scan_order == ScanOrder::kAlternating ? place(dim * sizeof(float)) : at.residual;
  const size_t layers = next;
  at.normed = place(dim * element);
  at.xz = place(2 * inner * element);
  const int directions = config.mixer.shared ? 1 : 2;
  for (int i = 0; i < 2; ++i) {
    const bool own = i < directions;  // else those of the first
    const bool conv = config.mixer.scan_input == MixerConfig::ScanInput::kConv;
    at.c[i] = own && conv ? place(inner * element) : at.c[0];
    at.dt[i] = own ? place(inner * element) : at.dt[0];
    at.bc[i] = own ? place(rows * 2 * config.d_state * sizeof(float)) : at.bc[0];
    at.y[i] = place(inner * element);
  }
  at.workspace = scan.chunks > 1 ? place(workspace_bytes) : 0;
  const size_t end = next;
  next = layers;
  at.patch_rows = place(patches * PatchLength(config) * element);
  at.patches = place(patches * config.embed_dim * sizeof(float));
  at.bytes = std::max(end, next);
  return at;
}

}  // namespace scanline::cuda
