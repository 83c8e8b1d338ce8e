#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// Of the pictures of a clip: all have that of the first, also where frames change their size. Those
// of kShortSide256Pad16 are no squares (Clip::valid_width).
struct PictureShape {
  int width = 0;
  int height = 0;
  int valid_width = 0;
  int valid_height = 0;

  size_t bytes() const { return static_cast<size_t>(width) * height * 3; }
  bool operator==(const PictureShape&) const = default;
};

// The shape that `spec`, which is valid, gives an upright frame. RESOLUTION_LIMIT for a frame so
// narrow that its resized long side would be out of all proportion.
absl::StatusOr<PictureShape> ShapeOf(const FrameSpec& spec, Size upright);

// An upright frame as the model sees it: spec.spatial_views pictures of `shape`, one after the
// other in `out`. `spec` is valid. Errors as ShapeOf.
absl::Status MakePictures(const FrameSpec& spec, const RgbView& upright, const PictureShape& shape,
                          uint8_t* out);

}  // namespace scanline
