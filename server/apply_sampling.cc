#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/field_error.h"
#include "server/from_proto.h"

namespace scanline {
namespace {

constexpr double kShortestSeconds = 0.01;  // of a window and of a stride
constexpr int kMostViews = 32;

absl::Status ApplyOffsets(const v1::SamplingSpec& asked, SamplingSpec& sampling) {
  if (asked.has_start_offset()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.start_seconds,
                              Seconds("spec.sampling.start_offset", asked.start_offset()));
  }
  if (asked.has_end_offset()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.end_seconds,
                              Seconds("spec.sampling.end_offset", asked.end_offset()));
    if (*sampling.end_seconds <= sampling.start_seconds) {
      return FieldInvalid("spec.sampling.end_offset",
                          absl::StrCat("more than start_offset (", sampling.start_seconds, " s)"),
                          absl::StrCat(*sampling.end_seconds, " s"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> WindowLength(absl::string_view field, const google::protobuf::Duration& d) {
  SCANLINE_ASSIGN_OR_RETURN(const double seconds, Seconds(field, d));
  if (seconds < kShortestSeconds) {
    return FieldInvalid(field, absl::StrCat("at least ", kShortestSeconds, " s"),
                        absl::StrCat(seconds, " s"));
  }
  return seconds;
}

absl::Status ApplyWindows(const v1::SamplingSpec& asked, SamplingSpec& sampling) {
  const double rate = asked.sample_rate_hz();
  if (!(rate >= 0 && rate <= 1000)) {
    return FieldInvalid("spec.sampling.sample_rate_hz", "0 to 1000", rate);
  }
  if (rate > 0 && asked.has_window()) {
    return FieldInvalid("spec.sampling.sample_rate_hz",
                        "0 beside `window`: either of them gives the window's length", rate);
  }
  if (rate == 0 && !asked.has_window() && !asked.has_window_stride()) return absl::OkStatus();
  if (rate > 0) sampling.window_seconds = sampling.frames / rate;
  if (asked.has_window()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.window_seconds,
                              WindowLength("spec.sampling.window", asked.window()));
  }
  if (asked.has_window_stride()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.stride_seconds,
                              WindowLength("spec.sampling.window_stride", asked.window_stride()));
  }
  if (sampling.window_seconds <= 0 || sampling.stride_seconds <= 0) {
    return FieldInvalid(
        sampling.window_seconds <= 0 ? "spec.sampling.window" : "spec.sampling.window_stride",
        "a value, since this model's own rule has no windows", "none");
  }
  sampling.rule = SamplingRule::kWindow;
  sampling.single_up_to_seconds = std::min(sampling.single_up_to_seconds, sampling.window_seconds);
  return absl::OkStatus();
}

absl::Status ApplyViews(const v1::SamplingSpec& asked, FrameSpec& spec) {
  if (asked.temporal_views() > kMostViews) {
    return FieldInvalid("spec.sampling.temporal_views", absl::StrCat("0 to ", kMostViews),
                        asked.temporal_views());
  }
  if (asked.temporal_views() > 1 && spec.sampling.rule == SamplingRule::kWindow) {
    return FieldInvalid("spec.sampling.temporal_views", "0 or 1 where windows are sampled",
                        asked.temporal_views());
  }
  if (asked.temporal_views() > 0) {
    spec.sampling.temporal_views = static_cast<int>(asked.temporal_views());
  }
  const uint32_t spatial = asked.spatial_views();
  if (spatial != 0 && spatial != 1 && spatial != 3) {
    return FieldInvalid("spec.sampling.spatial_views", "0 (the model's own), 1 or 3", spatial);
  }
  if (spatial == 3 && spec.resize != ResizeRule::kShortSideBilinear) {
    return FieldInvalid("spec.sampling.spatial_views",
                        "0 or 1, since this model sees one square of the frame", spatial);
  }
  if (spatial > 0) spec.spatial_views = static_cast<int>(spatial);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FrameSpec> ApplySampling(const v1::SamplingSpec& asked, const FrameSpec& model) {
  // In place: g++ 12 takes the unset optional of a returned copy for uninitialised.
  absl::StatusOr<FrameSpec> changed = model;
  FrameSpec& spec = *changed;
  const auto own_count = static_cast<uint32_t>(spec.sampling.frames);
  if (asked.frame_count() != 0 && asked.frame_count() != own_count) {
    return FieldInvalid(
        "spec.sampling.frame_count",
        absl::StrCat("0 or ", own_count, ", the number that the model was made for"),
        asked.frame_count());
  }
  SCANLINE_RETURN_IF_ERROR(ApplyOffsets(asked, spec.sampling));
  SCANLINE_RETURN_IF_ERROR(ApplyWindows(asked, spec.sampling));
  SCANLINE_RETURN_IF_ERROR(ApplyViews(asked, spec));
  return changed;
}

}  // namespace scanline
