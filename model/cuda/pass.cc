#include "model/cuda/pass.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/cuda/plan.h"
#include "model/patches.h"
#include "model/position.h"
#include "model/tokens.h"

namespace scanline::cuda {
namespace {

// Row i in order `to` is row from[i] in order `from_order`.
std::vector<int> RowsFrom(ScanOrder from_order, ScanOrder to, const BackboneConfig& config) {
  std::vector<int> from(config.tokens());
  for (int t = 0; t < config.steps(); ++t) {
    for (int cell = 0; cell < config.cells(); ++cell) {
      from[TokenRow(to, t, cell, config)] = TokenRow(from_order, t, cell, config);
    }
  }
  return from;
}

float* Floats(uint8_t* arena, size_t at) { return reinterpret_cast<float*>(arena + at); }

}  // namespace

template <typename T>
const T* Pass::Weight(size_t at) const {
  return at == kNone ? nullptr : reinterpret_cast<const T*>(setting_.weights + at);
}

absl::Status Pass::MakePositions(const Tensor& pos_embed) {
  const int side = GridOf(pos_embed);
  const bool fits = config_.rows() == side && config_.columns() == side;
  const Tensor resized = fits ? Tensor{} : ResizeGrid(pos_embed, config_.rows(), config_.columns());
  const Tensor& positions = fits ? pos_embed : resized;
  SCANLINE_ASSIGN_OR_RETURN(
      positions_, setting_.device->Upload(positions.data.get(), positions.size() * sizeof(float)));
  return absl::OkStatus();
}

absl::Status Pass::MakeOrders() {
  if (config_.scan_order != ScanOrder::kAlternating) return absl::OkStatus();
  const auto upload = [&](ScanOrder from, ScanOrder to) {
    const std::vector<int> rows = RowsFrom(from, to, config_);
    return setting_.device->Upload(rows.data(), rows.size() * sizeof(int));
  };
  SCANLINE_ASSIGN_OR_RETURN(to_temporal_,
                            upload(ScanOrder::kSpatialFirst, ScanOrder::kTemporalFirst));
  SCANLINE_ASSIGN_OR_RETURN(to_spatial_,
                            upload(ScanOrder::kTemporalFirst, ScanOrder::kSpatialFirst));
  return absl::OkStatus();
}

absl::Status Pass::MakeProducts() {
  const int tokens = config_.tokens();
  SCANLINE_ASSIGN_OR_RETURN(
      patch_embed_, setting_.device->MakeProduct({.rows = tokens - 1,
                                                  .columns = config_.embed_dim,
                                                  .inner = static_cast<int>(PatchLength(config_)),
                                                  .type = setting_.type,
                                                  .out_float = true}));
  SCANLINE_ASSIGN_OR_RETURN(in_proj_,
                            setting_.device->MakeProduct({.rows = tokens,
                                                          .columns = 2 * config_.d_inner(),
                                                          .inner = config_.embed_dim,
                                                          .type = setting_.type}));
  SCANLINE_ASSIGN_OR_RETURN(out_proj_, setting_.device->MakeProduct({.rows = tokens,
                                                                     .columns = config_.embed_dim,
                                                                     .inner = config_.d_inner(),
                                                                     .type = setting_.type,
                                                                     .out_float = true,
                                                                     .add = true}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Pass>> Pass::Make(const PassSetting& setting,
                                                 const BackboneConfig& config,
                                                 const Tensor& pos_embed) {
  std::unique_ptr<Pass> pass(new Pass(setting, config));
  const bool cumulative = config.mixer.residual == MixerConfig::Residual::kCumulative;
  pass->scan_ =
      PlanScan(config.d_inner(), config.tokens(), kTunedViews, setting.multiprocessors, cumulative);
  SCANLINE_RETURN_IF_ERROR(pass->MakePositions(pos_embed));
  SCANLINE_RETURN_IF_ERROR(pass->MakeOrders());
  SCANLINE_RETURN_IF_ERROR(pass->MakeProducts());
  return pass;
}

PassAt Pass::Place(int bucket) const {
  return PlacePass(config_, setting_.type, scan_, bucket,
                   ScanWorkspaceBytes(scan_, bucket, config_.d_inner(), config_.d_state));
}

absl::Status Pass::Gather(const uint8_t* pictures, const int* areas, int bucket, uint8_t* arena,
                          CUstream_st* stream) const {
  GatherPatches op{.type = setting_.type,
                   .batch = bucket,
                   .frames = config_.frames,
                   .height = config_.rows() * config_.patch,
                   .width = config_.columns() * config_.patch,
                   .patch = config_.patch,
                   .tubelet = config_.tubelet,
                   .pictures = pictures,
                   .areas = areas,
                   .rows = arena + Place(bucket).patch_rows};
  for (int channel = 0; channel < 3; ++channel) {
    op.centre[channel] = kPixelCentre;
    op.padding[channel] = setting_.packed->padding[channel];
  }
  return LaunchStatus(LaunchGatherPatches(op, stream), "patches");
}

absl::Status Pass::Embed(bool values, const PassAt& at, int bucket, uint8_t* arena,
                         CUstream_st* stream) const {
  const PatchAt& patch = values ? setting_.packed->values : setting_.packed->pictures;
  SCANLINE_RETURN_IF_ERROR(patch_embed_->Run(arena + at.patch_rows, Weight<uint8_t>(patch.weight),
                                             arena + at.patches, bucket, stream));
  const bool temporal = LayerOrder(config_.scan_order, 0) == ScanOrder::kTemporalFirst;
  return LaunchStatus(
      LaunchEmbed({.batch = bucket,
                   .steps = config_.steps(),
                   .cells = config_.cells(),
                   .dim = config_.embed_dim,
                   .temporal_first = temporal,
                   .patches = Floats(arena, at.patches),
                   .bias = Weight<float>(patch.bias),
                   .cls = Weight<float>(setting_.packed->cls),
                   .space = reinterpret_cast<const float*>(positions_.get()),
                   .time = config_.time ? Weight<float>(setting_.packed->time) : nullptr,
                   .residual = Floats(arena, at.residual)},
                  stream),
      "the embedding");
}

// The rows to take for `to`, and the stream as it is after that; null: it stays.
const int* Pass::Move(ScanOrder to, Stream* stream) const {
  if (stream->order == to) return nullptr;
  stream->order = to;
  std::swap(stream->at, stream->spare);
  const auto& rows = to == ScanOrder::kTemporalFirst ? to_temporal_ : to_spatial_;
  return reinterpret_cast<const int*>(rows.get());
}

// conv, projections, scan and gate of normed -> y[0].
absl::Status Pass::Mix(const LayerAt& layer, const PassAt& at, int bucket, uint8_t* arena,
                       CUstream_st* stream) const {
  const MixerConfig& mixer = config_.mixer;
  const int inner = config_.d_inner();
  const bool raw = mixer.scan_input == MixerConfig::ScanInput::kRaw;
  Project project{.type = setting_.type,
                  .batch = bucket,
                  .length = config_.tokens(),
                  .inner = inner,
                  .rank = config_.dt_rank,
                  .state = config_.d_state,
                  .directions = mixer.shared ? 1 : 2,
                  .x = arena + at.xz,
                  .x_stride = ptrdiff_t{2} * inner};
  Scan scan{.type = setting_.type,
            .batch = bucket,
            .length = config_.tokens(),
            .inner = inner,
            .state = config_.d_state,
            .u_stride = raw ? ptrdiff_t{2} * inner : inner,
            .plan = scan_,
            .first_token_init = mixer.init == MixerConfig::Init::kFirstToken,
            .mask_backward = mixer.mask_backward,
            .cumulative = mixer.residual == MixerConfig::Residual::kCumulative};
  if (scan_.chunks > 1) scan.workspace = Floats(arena, at.workspace);
  const auto direct = [&](const DirectionAt& weights, int i, ProjectDirection* to,
                          ScanDirection* from) {
    *to = {.conv_weight = Weight<float>(weights.conv_weight),
           .conv_bias = Weight<float>(weights.conv_bias),
           .x_proj = Weight<uint8_t>(weights.x_proj),
           .dt_proj = Weight<uint8_t>(weights.dt_proj),
           .dt_bias = Weight<float>(weights.dt_bias),
           .c = raw ? nullptr : arena + at.c[i],
           .dt = arena + at.dt[i],
           .bc = Floats(arena, at.bc[i])};
    *from = {.u = arena + (raw ? at.xz : at.c[i]),
             .dt = arena + at.dt[i],
             .bc = Floats(arena, at.bc[i]),
             .a = Weight<float>(weights.a),
             .d = Weight<float>(weights.d),
             .y = arena + at.y[i]};
  };
  direct(layer.forward, 0, &project.forward, &scan.forward);
  direct(layer.backward, 1, &project.backward, &scan.backward);
  SCANLINE_RETURN_IF_ERROR(LaunchStatus(LaunchProject(project, stream), "the projections"));
  SCANLINE_RETURN_IF_ERROR(LaunchStatus(LaunchScan(scan, stream), "the scan"));
  const size_t z = at.xz + inner * SizeOf(setting_.type);
  return LaunchStatus(LaunchGate({.type = setting_.type,
                                  .rows = bucket * config_.tokens(),
                                  .inner = inner,
                                  .forward = arena + at.y[0],
                                  .backward = arena + at.y[1],
                                  .z = mixer.gate ? arena + z : nullptr,
                                  .z_stride = ptrdiff_t{2} * inner,
                                  .out = arena + at.y[0]},
                                 stream),
                      "the gate");
}

absl::Status Pass::RunLayer(const LayerAt& layer, const PassAt& at, ScanOrder order, int bucket,
                            uint8_t* arena, CUstream_st* stream, Stream* residual) const {
  const float* before = Floats(arena, residual->at);
  const int* from = Move(order, residual);
  SCANLINE_RETURN_IF_ERROR(LaunchStatus(
      LaunchAddNorm({.out_type = setting_.type,
                     .batch = bucket,
                     .length = config_.tokens(),
                     .rows = config_.tokens(),
                     .dim = config_.embed_dim,
                     .layer_norm = config_.norm == NormKind::kLayer,
                     .eps = config_.norm_eps,
                     .residual = before,
                     .from = from,
                     .weight = Weight<float>(layer.norm_weight),
                     .bias = Weight<float>(layer.norm_bias),
                     .residual_out = from == nullptr ? nullptr : Floats(arena, residual->at),
                     .out = arena + at.normed},
                    stream),
      "a norm"));
  SCANLINE_RETURN_IF_ERROR(in_proj_->Run(arena + at.normed, Weight<uint8_t>(layer.in_proj),
                                         arena + at.xz, bucket, stream));
  SCANLINE_RETURN_IF_ERROR(Mix(layer, at, bucket, arena, stream));
  return out_proj_->Run(arena + at.y[0], Weight<uint8_t>(layer.out_proj), arena + residual->at,
                        bucket, stream);
}

absl::Status Pass::RunLayers(bool values, int bucket, uint8_t* arena, CUstream_st* stream) const {
  const PassAt at = Place(bucket);
  SCANLINE_RETURN_IF_ERROR(Embed(values, at, bucket, arena, stream));
  Stream residual{at.residual, at.moved, LayerOrder(config_.scan_order, 0)};
  for (int i = 0; i < config_.depth; ++i) {
    const ScanOrder order = LayerOrder(config_.scan_order, i);
    SCANLINE_RETURN_IF_ERROR(
        RunLayer(setting_.packed->layers[i], at, order, bucket, arena, stream, &residual));
  }
  return absl::OkStatus();
}

Pass::Stream Pass::StreamAfterLayers(const PassAt& at) const {
  Stream residual{at.residual, at.moved, LayerOrder(config_.scan_order, 0)};
  for (int i = 0; i < config_.depth; ++i) Move(LayerOrder(config_.scan_order, i), &residual);
  return residual;
}

absl::Status Pass::FinalNorm(int rows, int bucket, uint8_t* arena, float* out,
                             CUstream_st* stream) const {
  Stream residual = StreamAfterLayers(Place(bucket));
  const float* before = Floats(arena, residual.at);
  const int* from = Move(OutputOrder(config_.scan_order), &residual);
  return LaunchStatus(LaunchAddNorm({.out_type = Element::kFloat32,
                                     .batch = bucket,
                                     .length = config_.tokens(),
                                     .rows = rows,
                                     .dim = config_.embed_dim,
                                     .layer_norm = config_.norm == NormKind::kLayer,
                                     .eps = config_.norm_eps,
                                     .residual = before,
                                     .from = from,
                                     .weight = Weight<float>(setting_.packed->final_weight),
                                     .bias = Weight<float>(setting_.packed->final_bias),
                                     .out = out},
                                    stream),
                      "the final norm");
}

}  // namespace scanline::cuda
