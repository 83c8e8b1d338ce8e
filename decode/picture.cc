#include "decode/picture.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "base/error.h"

namespace scanline {
namespace {

constexpr int kMaxModelSize = 4'096;
constexpr int kMaxLongSide = 1 << 24;

// Kinetics style: the short side becomes `size`, the long side is truncated; crops along the long
// side. One view is the validation transform's centre crop, which rounds half to even; several are
// the test transform's, which truncates.
absl::Status MakeShortSide(const FrameSpec& spec, const RgbView& in, uint8_t* out) {
  const int size = spec.size;
  const int64_t shorter = std::min(in.width, in.height);
  const int64_t longer = int64_t{size} * std::max(in.width, in.height) / shorter;
  if (longer > kMaxLongSide) {
    return MakeError(
        Reason::kResolutionLimit,
        absl::StrFormat("a picture of %dx%d would be %d pixels long once its short side is %d; "
                        "at most %d are taken",
                        in.width, in.height, longer, size, kMaxLongSide),
        {{"limit", absl::StrFormat("%d", kMaxLongSide)},
         {"actual", absl::StrFormat("%d", longer)}});
  }
  const Size full{static_cast<int>(int64_t{size} * in.width / shorter),
                  static_cast<int>(int64_t{size} * in.height / shorter)};
  const int room = std::max(full.width, full.height) - size;
  for (int view = 0; view < spec.spatial_views; ++view) {
    const int at =
        spec.spatial_views == 1
            ? static_cast<int>(std::nearbyint(room / 2.0))
            : static_cast<int>(view * (static_cast<double>(room) / (spec.spatial_views - 1)));
    const bool wide = full.width > full.height;
    ResizeLinear(in, full, {wide ? at : 0, wide ? 0 : at, size, size}, out);
    out += static_cast<size_t>(size) * size * 3;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidatePicture(const FrameSpec& spec) {
  if (spec.size < 1 || spec.size > kMaxModelSize) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrFormat("the picture's side is 1 to %d pixels; the request says %d",
                                     kMaxModelSize, spec.size));
  }
  if (spec.resize == ResizeRule::kShortSide256Pad16) {
    return MakeError(Reason::kFieldInvalid,
                     "the resize rule short_side_256_pad16 is not supported here; use "
                     "short_side_bilinear, square_bicubic or centre_square_area");
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

absl::Status MakePictures(const FrameSpec& spec, const RgbView& upright, uint8_t* out) {
  switch (spec.resize) {
    case ResizeRule::kCentreSquareArea: {
      const int side = std::min(upright.width, upright.height);
      ResizeArea(upright, {(upright.width - side) / 2, (upright.height - side) / 2, side, side},
                 spec.size, out);
      return absl::OkStatus();
    }
    case ResizeRule::kSquareBicubic:
      ResizeBicubic(upright, spec.size, out);
      return absl::OkStatus();
    case ResizeRule::kShortSideBilinear:
    case ResizeRule::kShortSide256Pad16:  // refused by ValidatePicture
      break;
  }
  return MakeShortSide(spec, upright, out);
}

}  // namespace scanline
