#include "model/backbone.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/patches.h"
#include "model/position.h"
#include "model/shared_copies.h"
#include "model/tokens.h"

namespace scanline {
namespace {

const float* OptionalBias(const Weights& weights, const std::string& norm,
                          const BackboneConfig& config) {
  return config.norm == NormKind::kLayer ? weights.Data(norm + ".bias") : nullptr;
}

std::vector<const float*> Rows(const float* weight, int count, ptrdiff_t length) {
  std::vector<const float*> rows;
  for (int i = 0; i < count; ++i) rows.push_back(weight + i * length);
  return rows;
}

// w (pixel / 255 - mean) / std + b  =  w / (255 std) (pixel - centre)
//                                      + (b + w (centre / 255 - mean) / std).
void FoldPixels(const PixelNorm& norm, const BackboneConfig& config, const Weights& weights,
                PackedBackbone* packed) {
  const auto length = static_cast<ptrdiff_t>(PatchLength(config));
  const ptrdiff_t plane = length / 3;  // of a channel
  const float* weight = weights.Data("patch_embed.proj.weight");
  const float* bias = weights.Data("patch_embed.proj.bias");
  std::vector<float> folded(static_cast<size_t>(config.embed_dim * length));
  for (ptrdiff_t row = 0; row < config.embed_dim; ++row) {
    double sum = bias[row];
    for (ptrdiff_t i = 0; i < length; ++i) {
      const double mean = norm.mean[i / plane];
      const double std = norm.std[i / plane];
      const double w = weight[row * length + i];
      folded[row * length + i] = static_cast<float>(w / (255 * std));
      sum += w * (double{kPixelCentre} / 255 - mean) / std;
    }
    packed->pixel_bias.push_back(static_cast<float>(sum));
  }
  packed->pixel_patches = PackedMatrix(Rows(folded.data(), config.embed_dim, length),
                                       static_cast<int>(length), Precision::kFp32);
}

}  // namespace

std::shared_ptr<const PackedBackbone> PackedBackbone::Of(const BackboneConfig& config,
                                                         const Weights& weights,
                                                         const PassOptions& options) {
  // By where the weights are: those outlive every copy, so no two share an address.
  using Key = std::tuple<const float*, Precision, std::vector<float>>;
  static auto* const copies = new SharedCopies<Key, PackedBackbone>;
  std::vector<float> pixels;
  if (options.pixels) {
    pixels.assign(options.pixels->mean.begin(), options.pixels->mean.end());
    pixels.insert(pixels.end(), options.pixels->std.begin(), options.pixels->std.end());
  }
  const Key key(weights.Data("norm_f.weight"), options.precision, pixels);
  return copies->Get(key, [&] {
    auto packed = std::make_shared<PackedBackbone>();
    const auto length = static_cast<int>(PatchLength(config));
    const float* weight = weights.Data("patch_embed.proj.weight");
    packed->patches =
        PackedMatrix(Rows(weight, config.embed_dim, length), length, Precision::kFp32);
    if (options.pixels) FoldPixels(*options.pixels, config, weights, packed.get());
    for (int i = 0; i < config.depth; ++i) {
      packed->mixers.push_back(PackedMixer::From(weights, absl::StrCat("layers.", i, ".mixer."),
                                                 config, options.precision));
    }
    return std::shared_ptr<const PackedBackbone>(std::move(packed));
  });
}

Backbone::Backbone(const BackboneConfig& config, const Weights& weights, const Kernels& kernels,
                   PassOptions options)
    : config_(config),
      weights_(weights),
      kernels_(kernels),
      packed_(PackedBackbone::Of(config, weights, options)),
      own_team_(options.team == nullptr ? std::make_unique<Team>(1) : nullptr),
      team_(options.team == nullptr ? *own_team_ : *options.team),
      mixer_(config_, kernels, options.precision, team_),
      arena_(options.arena == nullptr ? own_arena_ : *options.arena),
      own_(static_cast<size_t>(team_.size())) {
  for (int i = 0; i < config.depth; ++i) {
    const std::string norm = absl::StrCat("layers.", i, ".norm");
    norms_.push_back({weights.Data(norm + ".weight"), OptionalBias(weights, norm, config)});
  }
  norms_.push_back({weights.Data("norm_f.weight"), OptionalBias(weights, "norm_f", config)});
  plan_ = PlanFor(config_);
  mixer_.SetLength(config_.tokens());
  arena_.Reserve(plan_.floats());
  space_ = PositionsFor(config.rows(), config.columns());
}

ArenaPlan Backbone::PlanFor(const BackboneConfig& shaped) {
  const auto tokens = static_cast<size_t>(shaped.tokens());
  const auto dim = static_cast<size_t>(shaped.embed_dim);
  ArenaPlan plan;
  plan.Add(&residual_, tokens * dim);
  plan.Add(&spare_, tokens * dim);
  for (OwnMemory& own : own_) {
    plan.Add(&own.hidden, kTileTokens * dim);
    plan.Add(&own.normed, kTileTokens * dim);
  }
  // The patches are needed before the first layer only, so they share the widest memory.
  mixer_.Plan(shaped.tokens(), &plan, (tokens - 1) * static_cast<size_t>(PatchLength(shaped)));
  return plan;
}

float* Backbone::Patches(bool pixels) {
  pixels_ = pixels;
  plan_.Place(&arena_);
  return mixer_.projected();
}

void Backbone::Measure(PassTimes* times) {
  times_ = times;
  mixer_.Measure(times);
}

const float* Backbone::PositionsFor(int rows, int columns) {
  constexpr size_t kMostGrids = 16;  // A service sees a few shapes again and again.
  const Tensor& trained = weights_.Get("pos_embed");
  const int side = GridOf(trained);
  if (rows == side && columns == side) return trained.data.get();
  const auto shape = std::make_pair(rows, columns);
  const auto known = std::find_if(grids_.begin(), grids_.end(),
                                  [&](const auto& grid) { return grid.first == shape; });
  if (known == grids_.end()) {
    if (grids_.size() == kMostGrids) grids_.pop_front();
    grids_.emplace_back(shape, ResizeGrid(trained, rows, columns));
  } else {
    std::rotate(known, known + 1, grids_.end());
  }
  return grids_.back().second.data.get();
}

void Backbone::Reshape(int height, int width) {
  const BackboneConfig shaped = ForPictures(config_, height, width);
  if (shaped.rows() == config_.rows() && shaped.columns() == config_.columns()) return;
  ArenaPlan plan = PlanFor(shaped);
  space_ = PositionsFor(shaped.rows(), shaped.columns());
  // Nothing throws from here on.
  config_ = shaped;
  plan_ = std::move(plan);
  mixer_.SetLength(config_.tokens());
}

// residual = [cls + pos[0], patch + pos[1 + cell] + time[t], ...] in the first layer's order.
// Official code: models/videomamba.py, forward_features; the order of the additions is its.
void Backbone::Embed() {
  const float* cls = weights_.Data("cls_token");
  for (int i = 0; i < config_.embed_dim; ++i) residual_[i] = cls[i] + space_[i];
  const int patches = config_.tokens() - 1;
  team_.ForEach((patches + kTileTokens - 1) / kTileTokens,
                [&](int tile, int rank) { EmbedTile(tile, own_[rank].hidden); });
}

// Of patches, which the first token is not one of. `embedded`: [kTileTokens][embed_dim].
void Backbone::EmbedTile(int tile, float* embedded) {
  const int dim = config_.embed_dim;
  const int cells = config_.cells();
  const int64_t length = PatchLength(config_);
  const int begin = tile * kTileTokens;
  const int end = std::min(begin + kTileTokens, config_.tokens() - 1);
  {
    const Timed timed(times_ != nullptr ? &times_->products : nullptr);
    const PackedMatrix& weight = pixels_ ? packed_->pixel_patches : packed_->patches;
    weight.Run(
        kernels_,
        {.count = end - begin,
         .x = mixer_.projected() + begin * length,
         .x_stride = length,
         .bias = pixels_ ? packed_->pixel_bias.data() : weights_.Data("patch_embed.proj.bias"),
         .out = embedded,
         .out_stride = dim},
        nullptr);
  }
  const Timed timed(times_ != nullptr ? &times_->other : nullptr);
  const float* time = config_.time ? weights_.Data("temporal_pos_embedding") : nullptr;
  const ScanOrder order = LayerOrder(config_.scan_order, 0);
  for (int patch = begin; patch < end; ++patch) {
    const int step = patch / cells;
    const int cell = patch % cells;
    const float* from = embedded + ptrdiff_t{patch - begin} * dim;
    const float* here = space_ + (1 + ptrdiff_t{cell}) * dim;
    float* to = residual_ + ptrdiff_t{TokenRow(order, step, cell, config_)} * dim;
    for (int i = 0; i < dim; ++i) to[i] = from[i] + here[i];
    if (time == nullptr) continue;
    const float* now = time + ptrdiff_t{step} * dim;
    for (int i = 0; i < dim; ++i) to[i] += now[i];
  }
}

void Backbone::Move(ScanOrder from, ScanOrder to) {
  if (from == to) return;
  Reorder(residual_, from, spare_, to, config_);
  std::swap(residual_, spare_);
}

// residual += hidden, and out = norm(residual); of a tile. No hidden: nothing is added. No out: no
// norm.
void Backbone::AddNormRows(const Norm& norm, int tile, const float* hidden, float* out) {
  const Timed timed(times_ != nullptr ? &times_->other : nullptr);
  float* residual = residual_ + ptrdiff_t{tile} * kTileTokens * config_.embed_dim;
  kernels_.add_norm({.rows = mixer_.Count(tile),
                     .dim = config_.embed_dim,
                     .x = hidden != nullptr ? hidden : residual,
                     .residual = hidden != nullptr ? residual : nullptr,
                     .weight = norm.weight,
                     .bias = norm.bias,
                     .eps = config_.norm_eps,
                     .layer_norm = config_.norm == NormKind::kLayer,
                     .residual_out = residual,
                     .out = out});
}

// residual += hidden; x, z = in_proj(norm(residual)); of a tile.
void Backbone::EnterLayer(int layer, int tile, const float* hidden, int rank) {
  float* normed = own_[rank].normed;
  AddNormRows(norms_[layer], tile, hidden, normed);
  mixer_.ProjectIn(packed_->mixers[layer], tile, normed, rank);
}

bool Backbone::SameOrder(int layer, int next) const {
  return LayerOrder(config_.scan_order, layer) == LayerOrder(config_.scan_order, next);
}

// On its way to the second-level cache while out_proj, which waits for no memory, is at work.
void Backbone::PrefetchResidual(int tile) const {
  constexpr ptrdiff_t kLine = 16;  // floats
  const float* rows = residual_ + ptrdiff_t{tile} * kTileTokens * config_.embed_dim;
  const ptrdiff_t floats = ptrdiff_t{mixer_.Count(tile)} * config_.embed_dim;
  for (ptrdiff_t i = 0; i < floats; i += kLine) {
    __builtin_prefetch(rows + i, /*for writing*/ 1, /*locality*/ 2);
  }
}

// From the scan of a layer to the scan of the next one, whose order may be another.
void Backbone::RunLayer(int layer, bool cls_only, BackboneTrace* trace) {
  const PackedMixer& weights = packed_->mixers[layer];
  const int next = layer + 1;
  const bool last = next == config_.depth;
  const bool enters = !last && SameOrder(layer, next);
  if (trace != nullptr) {
    trace->residual.push_back(Copy(residual_));
    trace->hidden.emplace_back(trace->residual.back().size());
  }
  mixer_.Scan(weights, cls_only && last);
  team_.ForEach(cls_only && last ? 1 : mixer_.tiles(), [&](int tile, int rank) {
    float* hidden = own_[rank].hidden;
    PrefetchResidual(tile);
    mixer_.ProjectOut(weights, tile, hidden, rank);
    if (trace != nullptr) {
      const ptrdiff_t at = ptrdiff_t{tile} * kTileTokens * config_.embed_dim;
      std::copy_n(hidden, ptrdiff_t{mixer_.Count(tile)} * config_.embed_dim,
                  trace->hidden.back().data() + at);
    }
    if (enters) {
      EnterLayer(next, tile, hidden, rank);
    } else {
      AddNormRows(norms_[next], tile, hidden, nullptr);
    }
  });
  if (last || enters) return;
  Move(LayerOrder(config_.scan_order, layer), LayerOrder(config_.scan_order, next));
  team_.ForEach(mixer_.tiles(), [&](int tile, int rank) { EnterLayer(next, tile, nullptr, rank); });
}

// spare = norm_f(residual). A norm looks at one token, so the cls row alone is the same.
void Backbone::FinalNorm(int rows) {
  kernels_.add_norm({.rows = rows,
                     .dim = config_.embed_dim,
                     .x = residual_,
                     .weight = norms_.back().weight,
                     .bias = norms_.back().bias,
                     .eps = config_.norm_eps,
                     .layer_norm = config_.norm == NormKind::kLayer,
                     .residual_out = residual_,
                     .out = spare_});
}

std::vector<float> Backbone::Copy(const float* rows) const {
  return {rows, rows + static_cast<size_t>(config_.tokens()) * config_.embed_dim};
}

const float* Backbone::Run(Rows rows, BackboneTrace* trace) {
  const bool cls_only = rows == Rows::kCls && trace == nullptr;
  Embed();
  if (trace != nullptr) *trace = {.tokens = Copy(residual_)};
  team_.ForEach(mixer_.tiles(), [&](int tile, int rank) { EnterLayer(0, tile, nullptr, rank); });
  for (int layer = 0; layer < config_.depth; ++layer) RunLayer(layer, cls_only, trace);
  if (!cls_only) {
    Move(LayerOrder(config_.scan_order, config_.depth - 1), OutputOrder(config_.scan_order));
  }
  FinalNorm(cls_only ? 1 : config_.tokens());
  if (trace != nullptr) trace->normed = Copy(spare_);
  return spare_;
}

}  // namespace scanline
