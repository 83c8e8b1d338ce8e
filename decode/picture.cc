#include "decode/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/picture_geometry.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr int kMaxModelSize = 4'096;
constexpr int kMaxLongSide = 1 << 24;

// Of AVA's pictures: four times as long as high. More is no film, but costs tokens.
constexpr int kMaxPaddedAspect = 4;

// Kinetics style: crops along the long side.
void MakeShortSide(const FrameSpec& spec, const RgbView& in, uint8_t* out) {
  for (int view = 0; view < spec.spatial_views; ++view) {
    const PictureGeometry g = GeometryOf(spec, in.width, in.height, view);
    ResizeLinear(in, {static_cast<int>(g.full_width), static_cast<int>(g.full_height)},
                 {static_cast<int>(g.x), static_cast<int>(g.y), g.width, g.height}, out);
    out += static_cast<size_t>(g.width) * g.height * 3;
  }
}

// The whole picture, black behind its right and lower border.
void MakePadded(const RgbView& in, const PictureShape& shape, uint8_t* out) {
  const Size valid = {shape.valid_width, shape.valid_height};
  std::vector<uint8_t> resized(static_cast<size_t>(valid.width) * valid.height * 3);
  ResizeLinear(in, valid, {0, 0, valid.width, valid.height}, resized.data());
  const size_t row = static_cast<size_t>(valid.width) * 3;
  const size_t padded_row = static_cast<size_t>(shape.width) * 3;
  std::fill(out, out + padded_row * shape.height, uint8_t{0});
  for (int y = 0; y < valid.height; ++y) {
    std::copy_n(resized.data() + y * row, row, out + y * padded_row);
  }
}

}  // namespace

absl::Status ValidatePicture(const FrameSpec& spec) {
  if (spec.size < 1 || spec.size > kMaxModelSize) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrFormat("the picture's side is 1 to %d pixels; the request says %d",
                                     kMaxModelSize, spec.size));
  }
  if (spec.resize == ResizeRule::kShortSide256Pad16 &&
      (spec.pad_multiple < 1 || spec.pad_multiple > spec.size)) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrFormat("pictures are padded to multiples of 1 to %d pixels, their "
                                     "short side; the request says %d",
                                     spec.size, spec.pad_multiple));
  }
  const int most_views = spec.resize == ResizeRule::kShortSideBilinear ? 16 : 1;
  if (spec.spatial_views < 1 || spec.spatial_views > most_views) {
    return MakeError(
        Reason::kFieldInvalid,
        absl::StrFormat("this resize rule has 1 to %d spatial views; the request asks for %d",
                        most_views, spec.spatial_views));
  }
  return absl::OkStatus();
}

Size DisplaySize(Size stored, int num, int den) {
  if (num <= 0 || den <= 0) return stored;
  const double width = std::round(static_cast<double>(stored.width) * num / den);
  return {static_cast<int>(std::clamp(width, 1.0, 1e9)), stored.height};
}

absl::StatusOr<PictureShape> ShapeOf(const FrameSpec& spec, Size upright) {
  const int64_t shorter = std::min(upright.width, upright.height);
  const int64_t longer = int64_t{spec.size} * std::max(upright.width, upright.height) / shorter;
  const int64_t limit = spec.resize == ResizeRule::kShortSide256Pad16
                            ? int64_t{kMaxPaddedAspect} * spec.size
                            : kMaxLongSide;
  const bool keeps_aspect = spec.resize == ResizeRule::kShortSideBilinear ||
                            spec.resize == ResizeRule::kShortSide256Pad16;
  if (keeps_aspect && longer > limit) {
    return MakeError(
        Reason::kResolutionLimit,
        absl::StrFormat("a picture of %dx%d would be %d pixels long once its short side is %d; "
                        "at most %d are taken",
                        upright.width, upright.height, longer, spec.size, limit),
        {{"limit", absl::StrFormat("%d", limit)}, {"actual", absl::StrFormat("%d", longer)}});
  }
  const PictureGeometry g = GeometryOf(spec, upright.width, upright.height);
  return PictureShape{g.width, g.height, g.valid_width, g.valid_height};
}

absl::Status MakePictures(const FrameSpec& spec, const RgbView& upright, const PictureShape& shape,
                          uint8_t* out) {
  SCANLINE_RETURN_IF_ERROR(ShapeOf(spec, {upright.width, upright.height}).status());
  switch (spec.resize) {
    case ResizeRule::kCentreSquareArea: {
      const int side = std::min(upright.width, upright.height);
      ResizeArea(upright, {(upright.width - side) / 2, (upright.height - side) / 2, side, side},
                 spec.size, out);
      break;
    }
    case ResizeRule::kSquareBicubic:
      ResizeBicubic(upright, spec.size, out);
      break;
    case ResizeRule::kShortSideBilinear:
      MakeShortSide(spec, upright, out);
      break;
    case ResizeRule::kShortSide256Pad16:
      MakePadded(upright, shape, out);
      break;
  }
  return absl::OkStatus();
}

}  // namespace scanline
