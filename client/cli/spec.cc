#include "client/cli/spec.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace scanline::cli {

void SetSeconds(double seconds, google::protobuf::Duration* duration) {
  const auto nanos = static_cast<int64_t>(std::llround(seconds * 1e9));
  duration->set_seconds(nanos / 1'000'000'000);
  duration->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

std::string ModelResource(const std::string& name) {
  return name.empty() || absl::StartsWith(name, "models/") ? name : absl::StrCat("models/", name);
}

v1::AnalysisSpec SpecOf(const Args& args) {
  v1::AnalysisSpec spec;
  spec.set_model(ModelResource(args.model));
  spec.add_tasks(v1::TASK_CLASSIFY);
  spec.set_allow_partial(args.allow_partial);
  spec.set_include_sampling(true);
  spec.mutable_classify()->set_top_k(static_cast<uint32_t>(args.top_k));
  spec.mutable_classify()->set_min_score(static_cast<float>(args.min_score));
  spec.mutable_classify()->set_include_logits(args.include_logits);
  v1::SamplingSpec& sampling = *spec.mutable_sampling();
  sampling.set_frame_count(static_cast<uint32_t>(args.frames));
  sampling.set_sample_rate_hz(args.sample_rate_hz);
  sampling.set_temporal_views(static_cast<uint32_t>(args.temporal_views));
  sampling.set_spatial_views(static_cast<uint32_t>(args.spatial_views));
  if (args.start_seconds > 0) SetSeconds(args.start_seconds, sampling.mutable_start_offset());
  if (args.end_seconds) SetSeconds(*args.end_seconds, sampling.mutable_end_offset());
  if (args.window_seconds > 0) SetSeconds(args.window_seconds, sampling.mutable_window());
  if (args.window_stride_seconds > 0) {
    SetSeconds(args.window_stride_seconds, sampling.mutable_window_stride());
  }
  return spec;
}

v1::AnalysisSpec DetectSpecOf(const Args& args) {
  v1::AnalysisSpec spec = SpecOf(args);
  spec.clear_tasks();
  spec.clear_classify();
  spec.add_tasks(v1::TASK_DETECT_ACTIONS);
  spec.mutable_classify()->set_include_logits(args.include_logits);
  v1::DetectOptions& detect = *spec.mutable_detect();
  const Args::Detect& a = args.detect;
  if (a.interval_seconds > 0) SetSeconds(a.interval_seconds, detect.mutable_keyframe_interval());
  detect.set_min_score(static_cast<float>(args.min_score));
  detect.set_min_person_score(static_cast<float>(a.min_person_score));
  detect.set_top_k(static_cast<uint32_t>(a.top_k.value_or(Args::Detect::kTopActions)));
  detect.set_link_tracks(a.tracks);
  return spec;
}

}  // namespace scanline::cli
