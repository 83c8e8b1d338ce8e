#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cancel.h"
#include "scanline/v1/video_service.pb.h"
#include "server/request.h"

namespace scanline {

struct RequestLimits {
  int64_t max_inline_bytes = int64_t{16} << 20;
  int64_t max_upload_bytes = int64_t{2} << 30;
  int64_t max_pixels = 33'554'432;
  int max_texts = 1000;  // of match_text and of EmbedText
  int64_t max_text_bytes = 4096;
  int max_boxes = 1000;  // of detect.proposals
};

// A validated Request of the message, whose bytes are taken out of it. `models` resolves the name.
// Errors: FIELD_INVALID (with the field's path, what was expected and what was found),
// CLIP_TOO_LARGE, RESOLUTION_LIMIT, MODEL_NOT_FOUND, TASK_UNSUPPORTED.
absl::StatusOr<Request> FromProto(v1::AnalyzeClipRequest& message, const ModelTable& models,
                                  const RequestLimits& limits, const Cancel& cancel);

// The same of an upload's start: everything but the input. Errors: as above.
absl::StatusOr<Request> FromProto(const v1::UploadClipRequest::Start& message,
                                  const ModelTable& models, const RequestLimits& limits,
                                  const Cancel& cancel);
UploadClaim ClaimOf(const v1::UploadClipRequest::Start& message);

// Texts alone, taken out of the message. Errors: FIELD_INVALID, MODEL_NOT_FOUND, TASK_UNSUPPORTED.
absl::StatusOr<Request> FromProto(v1::EmbedTextRequest& message, const ModelTable& models,
                                  const RequestLimits& limits, const Cancel& cancel);

// The FrameSpec of a model with the request's overrides: they change the parameters of the model's
// sampling rule, never its arithmetic.
//  - frame_count: only the model's own (position embeddings have that many steps).
//  - start_offset, end_offset: the stretch that counts.
//  - window, window_stride: length and distance of the windows; each unset one is the model's own.
//    A clip no longer than one window is one window. For a model whose rule has no windows both are
//    needed.
//  - sample_rate_hz: the window's length as frames / rate, instead of `window`.
//  - temporal_views, spatial_views: instead of the model's own, where the rule knows them.
absl::StatusOr<FrameSpec> ApplySampling(const v1::SamplingSpec& asked, const FrameSpec& model);

}  // namespace scanline
