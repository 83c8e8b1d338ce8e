#include "model/cuda/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/backbone.h"
#include "model/patches.h"
#include "model/tensor_ops.h"
#include "model/tokens.h"
#include "tests/model/cuda/device_memory.h"
#include "tests/model/double_model.h"
#include "tests/model/generator.h"
#include "tests/model/reference.h"
#include "tests/model/small_model.h"

// The launches of a pass as the CUDA engine makes them, with the kernels under the SIMT shim and
// plain loops for cuBLASLt: which buffer goes where, in which order, with which weights.

namespace scanline::cuda {
namespace {

using namespace ::scanline::testing;
using ::scanline::cuda::testing::Device;

constexpr int kMultiprocessors = 132;

float Load(const void* from, size_t i, Element type) {
  if (type == Element::kFloat32) return static_cast<const float*>(from)[i];
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(from)[i]} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

class PlainProduct : public Product {
 public:
  explicit PlainProduct(const ProductShape& shape) : shape_(shape) {}

  absl::Status Run(const void* x, const void* weight, void* out, int sequences,
                   CUstream_st* /*stream*/) const override {
    const size_t inner = shape_.inner;
    const size_t columns = shape_.columns;
    for (size_t row = 0; row < static_cast<size_t>(sequences) * shape_.rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (size_t k = 0; k < inner; ++k) {
          sum += double{Load(x, row * inner + k, shape_.type)} *
                 Load(weight, column * inner + k, shape_.type);
        }
        Store(static_cast<float>(sum), out, row * columns + column);
      }
    }
    return absl::OkStatus();
  }

 private:
  void Store(float sum, void* out, size_t i) const {
    if (!shape_.out_float && shape_.type == Element::kBfloat16) {
      static_cast<uint16_t*>(out)[i] = ToBf16(sum);
      return;
    }
    float& to = static_cast<float*>(out)[i];
    to = shape_.add ? to + sum : sum;
  }

  ProductShape shape_;
};

class CpuDevice : public PassDevice {
 public:
  absl::StatusOr<std::unique_ptr<Product>> MakeProduct(const ProductShape& shape) override {
    return std::make_unique<PlainProduct>(shape);
  }
  absl::StatusOr<std::shared_ptr<const uint8_t>> Upload(const void* from, size_t bytes) override {
    auto memory = std::make_shared<Device<uint8_t>>(bytes);
    std::memcpy(memory->get(), from, bytes);
    return std::shared_ptr<const uint8_t>(memory, memory->get());
  }
};

// A model on the shim; views are normalised videos or pictures.
class ShimModel {
 public:
  ShimModel(const BackboneConfig& config, const Weights& weights, Element type,
            const PixelNorm& norm = {{0.5F, 0.5F, 0.5F}, {0.25F, 0.25F, 0.25F}})
      : packed_(PackWeights(config, norm, weights, type)), type_(type) {
    weights_ = *device_.Upload(packed_.bytes.data(), packed_.bytes.size());
    const PassSetting setting{.device = &device_,
                              .type = type,
                              .multiprocessors = kMultiprocessors,
                              .packed = &packed_,
                              .weights = weights_.get()};
    auto made = Pass::Make(setting, config, weights.Get("pos_embed"));
    if (!made.ok()) throw std::runtime_error(made.status().ToString());
    pass_ = std::move(*made);
  }

  const Pass& pass() const { return *pass_; }

  // [videos][rows][embed_dim], in a pass of `bucket`; what fills it up is NaN.
  std::vector<float> RunVideos(const std::vector<std::vector<float>>& videos, int bucket,
                               bool all_tokens = true) {
    const BackboneConfig& config = pass_->config();
    Device<uint8_t> arena(pass_->Place(bucket).bytes);
    const size_t values = (config.tokens() - 1) * PatchLength(config);
    std::vector<float> rows(values);
    for (size_t i = 0; i < videos.size(); ++i) {
      PatchesFromVideo(videos[i].data(), config, rows.data());
      uint8_t* to = arena.get() + pass_->Place(bucket).patch_rows + i * values * SizeOf(type_);
      for (size_t k = 0; k < values; ++k) {
        if (type_ == Element::kFloat32) {
          std::memcpy(to + 4 * k, &rows[k], 4);
        } else {
          const uint16_t half = ToBf16(rows[k]);
          std::memcpy(to + 2 * k, &half, 2);
        }
      }
    }
    return Layers(true, videos.size(), bucket, arena.get(), all_tokens);
  }

  // `pictures`: [bucket][frames][height][width][3].
  std::vector<float> RunPictures(const std::vector<uint8_t>& pictures,
                                 const std::vector<int>& areas, int bucket) {
    Device<uint8_t> arena(pass_->Place(bucket).bytes);
    Device<uint8_t> input(pictures);
    Device<int> shown(areas);
    Expect(pass_->Gather(input.get(), areas.empty() ? nullptr : shown.get(), bucket, arena.get(),
                         nullptr));
    return Layers(false, bucket, bucket, arena.get(), true);
  }

 private:
  static void Expect(const absl::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  std::vector<float> Layers(bool values, size_t views, int bucket, uint8_t* arena,
                            bool all_tokens) {
    const int rows = all_tokens ? pass_->config().tokens() : 1;
    const size_t floats = static_cast<size_t>(rows) * pass_->config().embed_dim;
    Device<float> out(bucket * floats);
    Expect(pass_->RunLayers(values, bucket, arena, nullptr));
    Expect(pass_->FinalNorm(rows, bucket, arena, out.get(), nullptr));
    return {out.get(), out.get() + views * floats};
  }

  CpuDevice device_;
  PackedWeights packed_;
  Element type_;
  std::shared_ptr<const uint8_t> weights_;
  std::unique_ptr<Pass> pass_;
};

std::vector<float> Video(const BackboneConfig& config, uint64_t seed) {
  const int height = config.rows() * config.patch;
  const int width = config.columns() * config.patch;
  return Generate("input", {1, 3, config.frames, height, width}, seed);
}

void ExpectLikeDouble(const BackboneConfig& config, const Weights& weights) {
  const std::vector<float> video = Video(config, 11);
  const std::vector<float> normed =
      ShimModel(config, weights, Element::kFloat32).RunVideos({video}, 1);
  std::vector<float> pooled(config.pooled_dim());
  PoolTokens(normed.data(), config, pooled.data());
  EXPECT_LE(RelMax(pooled, DoubleModel(config, weights).Run(video)), 2e-5);
}

TEST(Pass, EveryCombinationOfSwitchesMatchesTheDoubleReference) {
  ModelConfig model = SmallModel();
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE("switches " + std::to_string(bits));
    model.backbone.mixer = SwitchesOf(bits);
    ExpectLikeDouble(model.backbone, GenerateWeights(model, 5));
  }
}

TEST(Pass, EveryScanOrderNormAndStateMatchesTheDoubleReference) {
  ModelConfig model = SmallModel();
  BackboneConfig& config = model.backbone;
  config.pool = PoolKind::kClsPlusAvgDeltaMax;  // reads every token in its place
  for (ScanOrder order : kScanOrders) {
    for (NormKind norm : {NormKind::kRms, NormKind::kLayer}) {
      for (int depth : {2, 3}) {  // Alternating ends in either order.
        config.scan_order = order;
        config.norm = norm;
        config.depth = depth;
        config.d_state = depth == 2 ? 8 : 16;
        SCOPED_TRACE(::testing::Message() << "order " << static_cast<int>(order) << " norm "
                                          << static_cast<int>(norm) << " depth " << depth);
        ExpectLikeDouble(config, GenerateWeights(model, 7));
      }
    }
  }
}

TEST(Pass, ASequenceInChunksMatchesTheDoubleReference) {
  ModelConfig model = SmallModel();
  BackboneConfig& config = model.backbone;
  config.frames = 48;
  config.size = 16;
  config.depth = 2;
  const ScanPlan plan =
      PlanScan(config.d_inner(), config.tokens(), kTunedViews, kMultiprocessors, false);
  ASSERT_GT(plan.chunks, 1) << config.tokens() << " tokens should be cut";
  ExpectLikeDouble(config, GenerateWeights(model, 3));
}

TEST(Pass, PicturesOfAnotherShapeMatchTheCpu) {
  ModelConfig model = SmallModel();
  const Weights weights = GenerateWeights(model, 5);
  const BackboneConfig shape = ForPictures(model.backbone, 12, 16);
  const std::vector<float> video = Video(shape, 4);
  Backbone backbone(model.backbone, weights, BestKernels());
  backbone.Reshape(12, 16);
  PatchesFromVideo(video.data(), shape, backbone.patches());
  const float* want = backbone.Run(Backbone::Rows::kAll);
  const std::vector<float> got = ShimModel(shape, weights, Element::kFloat32).RunVideos({video}, 1);
  EXPECT_LE(RelMax(got, std::vector<float>(want, want + got.size())), 2e-5);
}

// Pictures and areas, folded normalisation and padding, as the CPU's patches from a table.
TEST(Pass, BytesGiveWhatNormalisedValuesGive) {
  ModelConfig model = SmallModel();
  const BackboneConfig& config = model.backbone;
  const PixelNorm norm = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  const Weights weights = GenerateWeights(model, 5);
  const size_t picture = size_t{3} * config.size * config.size;
  std::vector<uint8_t> pictures(2 * config.frames * picture);
  for (size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<uint8_t>(i * 37 + i / 13);
  const std::vector<int> areas = {config.size, config.size, 5, 7};
  const std::vector<float> got =
      ShimModel(config, weights, Element::kFloat32, norm).RunPictures(pictures, areas, 2);

  Backbone backbone(config, weights, BestKernels(), {.pixels = norm});
  for (size_t view = 0; view < 2; ++view) {
    std::vector<const uint8_t*> frames;
    for (int i = 0; i < config.frames; ++i) {
      frames.push_back(&pictures[(view * config.frames + i) * picture]);
    }
    PatchesFromPictures(frames, norm, config, backbone.pixel_patches(),
                        {areas[2 * view], areas[2 * view + 1]});
    const float* want = backbone.Run(Backbone::Rows::kAll);
    const size_t floats = got.size() / 2;
    EXPECT_LE(RelMax(std::vector<float>(got.begin() + static_cast<ptrdiff_t>(view * floats),
                                        got.begin() + static_cast<ptrdiff_t>((view + 1) * floats)),
                     std::vector<float>(want, want + floats)),
              2e-5)
        << "view " << view;
  }
}

TEST(Pass, AViewHasTheSameBitsInEveryBucket) {
  ModelConfig model = SmallModel();
  model.backbone.scan_order = ScanOrder::kAlternating;
  const Weights weights = GenerateWeights(model, 5);
  for (Element type : {Element::kFloat32, Element::kBfloat16}) {
    ShimModel shim(model.backbone, weights, type);
    const std::vector<float> video = Video(model.backbone, 11);
    const std::vector<float> other = Video(model.backbone, 12);
    const std::vector<float> alone = shim.RunVideos({video}, 1);
    const std::vector<float> third = shim.RunVideos({other, other, video}, 4);
    ASSERT_EQ(third.size(), 3 * alone.size());
    EXPECT_EQ(std::memcmp(&third[2 * alone.size()], alone.data(), alone.size() * sizeof(float)), 0);
    EXPECT_NE(std::memcmp(third.data(), alone.data(), alone.size() * sizeof(float)), 0);
    const std::vector<float> cls = shim.RunVideos({video}, 1, /*all_tokens=*/false);
    EXPECT_EQ(std::memcmp(cls.data(), alone.data(), cls.size() * sizeof(float)), 0);
  }
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0;
  double norms[2] = {};
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    norms[0] += double{a[i]} * a[i];
    norms[1] += double{b[i]} * b[i];
  }
  return dot / std::sqrt(norms[0] * norms[1]);
}

TEST(Pass, Bf16StaysNearFp32) {
  ModelConfig model = SmallModel();
  const Weights weights = GenerateWeights(model, 5);
  const std::vector<float> video = Video(model.backbone, 11);
  const auto exact = ShimModel(model.backbone, weights, Element::kFloat32).RunVideos({video}, 1);
  const auto rounded = ShimModel(model.backbone, weights, Element::kBfloat16).RunVideos({video}, 1);
  EXPECT_GE(Cosine(rounded, exact), 0.9995);
  EXPECT_NE(exact, rounded);
}

// With the hardware's exponential and tanh as wrong as they may be.
TEST(Pass, ApproximateFunctionsKeepTheBoundsOfBothTypes) {
  ModelConfig model = SmallModel();
  const Weights weights = GenerateWeights(model, 5);
  const std::vector<float> video = Video(model.backbone, 11);
  const auto exact = ShimModel(model.backbone, weights, Element::kFloat32).RunVideos({video}, 1);
  simt::SetOptions({.approximate = true});
  const auto single = ShimModel(model.backbone, weights, Element::kFloat32).RunVideos({video}, 1);
  const auto rounded = ShimModel(model.backbone, weights, Element::kBfloat16).RunVideos({video}, 1);
  simt::SetOptions({});
  EXPECT_NE(single, exact) << "the shim's functions are exact";
  EXPECT_LE(RelMax(single, exact), 1e-5);
  EXPECT_GE(Cosine(rounded, exact), 0.9995);
}

TEST(PlacePass, SixtyFourFramesOfTinyFitIn150MB) {
  BackboneConfig tiny;
  tiny.frames = 64;
  const ScanPlan plan = PlanScan(tiny.d_inner(), tiny.tokens(), 1, kMultiprocessors, false);
  const size_t workspace = ScanWorkspaceBytes(plan, 1, tiny.d_inner(), tiny.d_state);
  EXPECT_LE(PlacePass(tiny, Element::kBfloat16, plan, 1, workspace).bytes, size_t{150'000'000});
}

TEST(CheckBackbone, NamesWhatTheKernelsDoNotTake) {
  const BackboneConfig tiny;
  EXPECT_TRUE(CheckBackbone(tiny).ok());
  const auto refused = [&](auto change) {
    BackboneConfig config;
    change(config);
    const absl::Status status = CheckBackbone(config);
    EXPECT_EQ(ReasonOf(status), Reason::kFieldInvalid);
    return std::string(status.message());
  };
  EXPECT_NE(refused([](auto& c) { c.d_conv = 3; }).find("d_conv is 3"), std::string::npos);
  EXPECT_NE(refused([](auto& c) { c.d_state = 5; }).find("d_state is 5"), std::string::npos);
  EXPECT_NE(refused([](auto& c) { c.dt_rank = 65; }).find("dt_rank is 65"), std::string::npos);
  EXPECT_NE(refused([](auto& c) { c.embed_dim = 20; }).find("40"), std::string::npos);
  EXPECT_NE(refused([](auto& c) { c.embed_dim = 1032; }).find("1032"), std::string::npos);
  EXPECT_NE(refused([](auto& c) { c.patch = 14; }).find("588"), std::string::npos);
}

TEST(ToBf16, RoundsToNearestHalvesToEven) {
  EXPECT_EQ(ToBf16(1.0F), 0x3F80);
  EXPECT_EQ(ToBf16(1.0F + 1.0F / 256), 0x3F80);  // half way, even below
  EXPECT_EQ(ToBf16(1.0F + 3.0F / 256), 0x3F82);  // half way, even above
  EXPECT_EQ(ToBf16(1.0F + 1.1F / 256), 0x3F81);
  EXPECT_EQ(ToBf16(-2.0F), 0xC000);
  EXPECT_EQ(ToBf16(INFINITY), 0x7F80);
  EXPECT_EQ(ToBf16(NAN) & 0x7FC0, 0x7FC0);
}

}  // namespace
}  // namespace scanline::cuda
