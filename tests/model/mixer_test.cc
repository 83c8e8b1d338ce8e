#include "model/mixer.h"

#include <gtest/gtest.h>

#include "model/tensor_ops.h"
#include "tests/model/double_model.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 1e-5;  // mixer_*, block_*: tests/data/reference/README.md

BackboneConfig ConfigOf(const Weights& weights, const std::string& mixer, const MixerConfig& kind) {
  BackboneConfig config;
  config.embed_dim = static_cast<int>(weights.Get(mixer + "in_proj.weight").shape[1]);
  config.expand =
      static_cast<int>(weights.Get(mixer + "out_proj.weight").shape[1]) / config.embed_dim;
  config.d_state = static_cast<int>(weights.Get(mixer + "A_log").shape[1]);
  config.d_conv = static_cast<int>(weights.Get(mixer + "conv1d.weight").shape[2]);
  config.dt_rank = static_cast<int>(weights.Get(mixer + "dt_proj.weight").shape[1]);
  config.mixer = kind;
  return config;
}

std::vector<float> Mix(const Weights& weights, const std::string& prefix,
                       const BackboneConfig& config, const Kernels& kernels,
                       const std::vector<float>& x, int threads = 1) {
  const int length = static_cast<int>(x.size()) / config.embed_dim;
  Team team(threads);
  Mixer mixer(config, kernels, Precision::kFp32, team);
  ArenaPlan plan;
  mixer.SetLength(length, &plan);
  Arena arena;
  plan.Place(&arena);
  const PackedMixer packed = PackedMixer::From(weights, prefix, config, Precision::kFp32);
  std::vector<float> out(x.size());
  const ptrdiff_t tile_size = ptrdiff_t{kTileTokens} * config.embed_dim;
  team.ForEach(mixer.tiles(), [&](int tile, int rank) {
    mixer.ProjectIn(packed, tile, x.data() + tile * tile_size, rank);
  });
  mixer.Scan(packed, /*first_tile_only=*/false);
  team.ForEach(mixer.tiles(), [&](int tile, int rank) {
    mixer.ProjectOut(packed, tile, out.data() + tile * tile_size, rank);
  });
  return out;
}

// Every sequence of [batch, length, dim] against the same of `want`.
void ExpectMixes(const SafetensorsFile& file, const std::string& x, const std::string& want,
                 const std::string& params, const MixerConfig& kind) {
  const Weights weights = WeightsUnder(file, params);
  const BackboneConfig config = ConfigOf(weights, "", kind);
  const auto& shape = file.at(x).shape;
  const auto count = static_cast<size_t>(shape[1] * shape[2]);
  for (const Kernels* kernels : KernelsHere()) {
    for (size_t batch = 0; batch < static_cast<size_t>(shape[0]); ++batch) {
      const auto rows = Part(Floats(file.at(x)), batch * count, count);
      const auto got = Mix(weights, "", config, *kernels, rows);
      EXPECT_LE(RelMax(got, Part(Floats(file.at(want)), batch * count, count)), kTolerance)
          << want << " " << kernels->name;
      for (int threads : {2, 3, 4})
        EXPECT_EQ(Mix(weights, "", config, *kernels, rows, threads), got);
    }
  }
}

TEST(Mixer, MatchesVideoMamba) {
  const SafetensorsFile file = ReadReference("mixer_videomamba");
  for (const std::string& name : Cases(file)) {
    ExpectMixes(file, name + ".x", name + ".out", name + ".param.", MixerConfig());
  }
}

TEST(Mixer, MatchesTheStagesOfTheForwardDirection) {
  const SafetensorsFile file = ReadReference("mixer_videomamba");
  int seen = 0;
  for (const std::string& name : Cases(file)) {
    if (!file.has(name + ".mid_xz")) continue;
    ++seen;
    SCOPED_TRACE(name);
    const Weights weights = WeightsUnder(file, name + ".param.");
    const BackboneConfig config = ConfigOf(weights, "", MixerConfig());
    const size_t length = file.at(name + ".x").shape[1];
    const size_t inner = config.d_inner();
    const int row = config.dt_rank + 2 * config.d_state;
    // The first sequence of each is enough: the whole mixer is compared above.
    const auto x = Part(Floats(file.at(name + ".x")), 0, length * config.embed_dim);
    std::vector<float> xz(length * 2 * inner);
    RunGemm({.x = x.data(),
             .rows = static_cast<int64_t>(length),
             .inner = config.embed_dim,
             .x_stride = config.embed_dim,
             .weight = weights.Data("in_proj.weight"),
             .columns = static_cast<int64_t>(2 * inner),
             .out = xz.data()});
    EXPECT_LE(RelMax(xz, Transposed(Floats(file.at(name + ".mid_xz")), 0, 2 * inner, length)),
              kTolerance);
    std::vector<float> conv(length * inner);
    CausalConvReference<float>({.length = static_cast<int>(length),
                                .dim = static_cast<int>(inner),
                                .x = xz.data(),
                                .x_stride = static_cast<ptrdiff_t>(2 * inner),
                                .weight = weights.Data("conv1d.weight"),
                                .bias = weights.Data("conv1d.bias"),
                                .out = conv.data(),
                                .out_stride = static_cast<ptrdiff_t>(inner)});
    EXPECT_LE(RelMax(conv, Transposed(Floats(file.at(name + ".mid_conv_out")), 0, inner, length)),
              kTolerance);
    std::vector<float> x_dbl(length * row);
    RunGemm({.x = conv.data(),
             .rows = static_cast<int64_t>(length),
             .inner = static_cast<int64_t>(inner),
             .x_stride = static_cast<int64_t>(inner),
             .weight = weights.Data("x_proj.weight"),
             .columns = row,
             .out = x_dbl.data()});
    EXPECT_LE(RelMax(x_dbl, Part(Floats(file.at(name + ".mid_x_dbl")), 0, x_dbl.size())),
              kTolerance);
  }
  EXPECT_GT(seen, 0);
}

TEST(Mixer, MatchesEveryVideoMambaProVariant) {
  const SafetensorsFile file = ReadReference("mixer_pro");
  const std::pair<const char*, const char*> variants[] = {
      {"v1", "videomambapro_v1"},       {"v2", "videomambapro_v2"},
      {"videomamba", "videomamba"},     {"intended", "videomambapro_intended"},
      {"paper", "videomambapro_paper"},
  };
  for (const std::string& name : Cases(file)) {
    for (const auto& [variant, preset] : variants) {
      const std::string params = std::string(variant) == "v1" ? ".v1.param." : ".v2.param.";
      ExpectMixes(file, name + ".x", name + "." + variant + ".out", name + params,
                  *MixerPreset(preset));
    }
  }
}

// Long and odd, at both state counts. The vectors' bound is for any fp32; these kernels are nearer.
TEST(Mixer, MatchesTheDoubleReferenceOver4099Tokens) {
  constexpr int kTokens = 4099;
  constexpr double kBound = 4e-6;
  for (const int state : {8, 16}) {
    for (const char* preset : {"videomamba", "videomambapro_v1", "videomambapro_v2",
                               "videomambapro_intended", "videomambapro_paper"}) {
      ModelConfig model;
      BackboneConfig& config = model.backbone;
      config.embed_dim = 24;  // d_inner 48, a panel and a half
      config.depth = 1;
      config.d_state = state;
      config.dt_rank = 2;
      config.mixer = *MixerPreset(preset);
      const Weights weights = GenerateWeights(model, 13);
      const auto x = Generate("input", {kTokens, config.embed_dim}, 17);
      Rows rows;
      for (int t = 0; t < kTokens; ++t) {
        const auto row = x.begin() + ptrdiff_t{t} * config.embed_dim;
        rows.emplace_back(row, row + config.embed_dim);
      }
      std::vector<double> want;
      for (const Row& row : DoubleModel(config, weights).Mixer(rows, "layers.0.mixer.")) {
        want.insert(want.end(), row.begin(), row.end());
      }
      for (const Kernels* kernels : KernelsHere()) {
        const auto got = Mix(weights, "layers.0.mixer.", config, *kernels, x);
        EXPECT_LE(RelMax(got, want), kBound) << preset << " " << state << " " << kernels->name;
      }
    }
  }
}

TEST(Block, ChainsNormMixerAndResidualAsTheOfficialBlocksDo) {
  const SafetensorsFile file = ReadReference("block_videomamba");
  const Weights weights = WeightsUnder(file, "");
  const auto& shape = file.at("x").shape;
  const size_t count = shape[1] * shape[2];
  int blocks = 0;
  while (file.has("hidden" + std::to_string(blocks))) ++blocks;
  ASSERT_GT(blocks, 0);
  for (const Kernels* kernels : KernelsHere()) {
    for (size_t batch = 0; batch < static_cast<size_t>(shape[0]); ++batch) {
      std::vector<float> hidden = Part(Floats(file.at("x")), batch * count, count);
      std::vector<float> residual(count), normed(count);
      for (int i = 0; i < blocks; ++i) {
        const std::string block = "block" + std::to_string(i) + ".";
        const BackboneConfig config = ConfigOf(weights, block + "mixer.", MixerConfig());
        kernels->add_norm({.rows = static_cast<int>(shape[1]),
                           .dim = config.embed_dim,
                           .x = hidden.data(),
                           .residual = i == 0 ? nullptr : residual.data(),
                           .weight = weights.Data(block + "norm.weight"),
                           .eps = 1e-5f,
                           .residual_out = residual.data(),
                           .out = normed.data()});
        hidden = Mix(weights, block + "mixer.", config, *kernels, normed);
        const auto want = [&](const char* name) {
          return Part(Floats(file.at(name + std::to_string(i))), batch * count, count);
        };
        EXPECT_LE(RelMax(residual, want("residual")), kTolerance) << block << kernels->name;
        EXPECT_LE(RelMax(hidden, want("hidden")), kTolerance) << block << kernels->name;
      }
    }
  }
}

TEST(DoubleModel, IsItselfRight) {  // What other tests measure against.
  const SafetensorsFile file = ReadReference("mixer_pro");
  const Weights weights = WeightsUnder(file, "d32_L65.v2.param.");
  const Weights shared = WeightsUnder(file, "d32_L65.v1.param.");
  const auto x = Floats(file.at("d32_L65.x"));
  Rows rows;
  for (size_t t = 0; t < 65; ++t) {
    rows.emplace_back(x.begin() + static_cast<ptrdiff_t>(t * 32),
                      x.begin() + static_cast<ptrdiff_t>(t * 32 + 32));
  }
  for (const auto& [variant, preset] :
       {std::pair("v1", "videomambapro_v1"), std::pair("v2", "videomambapro_v2"),
        std::pair("intended", "videomambapro_intended"), std::pair("paper", "videomambapro_paper"),
        std::pair("videomamba", "videomamba")}) {
    const Weights& used = std::string(variant) == "v1" ? shared : weights;
    const BackboneConfig config = ConfigOf(used, "", *MixerPreset(preset));
    std::vector<double> got;
    for (const Row& row : DoubleModel(config, used).Mixer(rows, "")) {
      got.insert(got.end(), row.begin(), row.end());
    }
    const std::string out = std::string("d32_L65.") + variant + ".out";
    EXPECT_LE(RelMax(got, Part(Floats(file.at(out)), 0, got.size())), kTolerance) << variant;
  }
}

}  // namespace
}  // namespace scanline::testing
