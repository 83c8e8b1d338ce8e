#include "decode/picture_maker.h"

#include "base/status_macros.h"
#include "decode/orientation.h"

namespace scanline {

absl::StatusOr<PictureSource> PictureMaker::Load(const WantedFrame& wanted, bool keyframe) {
  SCANLINE_RETURN_IF_ERROR(colors_.Convert(*wanted.frame, stored_));
  SCANLINE_ASSIGN_OR_RETURN(loaded_, Upright(wanted));
  if (watch_) {
    const double before = ThreadCpuSeconds();
    SCANLINE_RETURN_IF_ERROR(watch_(
        {wanted.index, loaded_.width, loaded_.height, loaded_.data, loaded_.stride, keyframe}));
    watch_seconds_ += ThreadCpuSeconds() - before;
  }
  return PictureSource{loaded_.width, loaded_.height, RotationCcw(wanted.orientation)};
}

absl::StatusOr<RgbView> PictureMaker::Upright(const WantedFrame& wanted) {
  RgbView view = stored_.view();
  if (spec_.apply_sample_aspect) {
    const Size display =
        DisplaySize({view.width, view.height}, wanted.sample_aspect_num, wanted.sample_aspect_den);
    if (display.width != view.width) {
      if (int64_t{display.width} * display.height > max_pixels_) {
        return ResolutionError(display.width, display.height, max_pixels_);
      }
      stretched_.resize(static_cast<size_t>(display.width) * display.height * 3);
      ResizeLinear(view, display, {0, 0, display.width, display.height}, stretched_.data());
      view = {stretched_.data(), display.width, display.height, ptrdiff_t{display.width} * 3};
    }
  }
  if (wanted.orientation == Orientation{}) return view;
  ApplyOrientation(wanted.orientation, view, upright_);
  return upright_.view();
}

}  // namespace scanline
