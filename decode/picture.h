#pragma once

#include "absl/status/status.h"
#include "base/clip.h"
#include "decode/resize.h"
#include "decode/rgb_image.h"

namespace scanline {

// FIELD_INVALID where `spec` asks for a size, a resize rule or a number of spatial views that do
// not exist.
absl::Status ValidatePicture(const FrameSpec& spec);

// Size of a picture once its pixels are square: the stored width times the sample aspect ratio
// num:den. A ratio that is not known (0) is 1.
Size DisplaySize(Size stored, int num, int den);

// An upright picture as the model sees it: spec.spatial_views pictures of [size, size, 3], one
// after the other in `out`. `spec` is valid. RESOLUTION_LIMIT for a picture so narrow that its
// resized long side would be out of all proportion.
absl::Status MakePictures(const FrameSpec& spec, const RgbView& upright, uint8_t* out);

}  // namespace scanline
