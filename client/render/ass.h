#pragma once

#include <string>

#include "client/render/overlay.h"

namespace scanline::render {

// An Advanced SubStation script (v4.00+) of `overlay` for pictures of this size: boxes as vector
// shapes, labels and captions as text on a backing. Played beside the video by mpv and VLC, burnt
// in by WriteAnnotatedVideo. Labels may be any bytes (see SafeText).
std::string ToAss(const Overlay& overlay, int width, int height);

// The same as WebVTT: the captions, and each box's label while it is there.
std::string ToWebVtt(const Overlay& overlay);

}  // namespace scanline::render
