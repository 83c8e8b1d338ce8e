#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The words that decode/ and model/ share. decode/ turns bytes and a FrameSpec into a Clip; model/
// says which FrameSpec it wants and reads the Clip. Neither knows the other.

namespace scanline {

// docs/models.md has the arithmetic of each rule; decode/sampling_plan.h has the functions.
enum class SamplingRule { kUniform, kK400Sparse, kK400Dense, kSsv2, kMiddle, kAva, kWindow };

enum class ResizeRule {
  kShortSideBilinear,  // short side to `size`, long side truncated, OpenCV INTER_LINEAR; crops of
                       // size x size
  kSquareBicubic,      // straight to size x size, aspect not kept
  kShortSide256Pad16,  // AVA
  kCentreSquareArea,   // centre square of the frame, exact area average to size x size
};

// Which frames the model sees.
struct SamplingSpec {
  SamplingRule rule = SamplingRule::kUniform;
  int frames = 8;  // frames a view
  int temporal_views = 1;
  int frame_step = 1;               // kK400Dense, kAva: every n-th frame
  double window_seconds = 0;        // kWindow: length of a window
  double stride_seconds = 0;        // kWindow: from start to start
  double single_up_to_seconds = 0;  // kWindow: a clip no longer than this is one uniform window
  // Seconds from the first presentation timestamp; only frames on screen in [start, end) count.
  double start_seconds = 0;
  std::optional<double> end_seconds;
};

// What the model wants of a video.
struct FrameSpec {
  SamplingSpec sampling;
  ResizeRule resize = ResizeRule::kShortSideBilinear;
  int size = 224;         // side of the square that the model sees, pixels
  int spatial_views = 1;  // 1: centre crop; 3: along the long side
  bool apply_sample_aspect =
      false;  // false: ignore the sample aspect ratio, as the reference loader does
};

// What the container and the codec said. Sizes after rotation (and sample aspect, where applied).
struct SourceInfo {
  std::string container;  // libavformat's name, e.g. "mov,mp4,m4a,3gp,3g2,mj2"
  std::string codec;      // libavcodec's name, e.g. "h264"
  int width = 0;
  int height = 0;
  int rotation_ccw = 0;  // degrees turned for display
  int64_t frames = 0;    // displayed frames, as counted; 0: not known
  double duration_seconds = 0;
};

// One sampled frame of the source.
struct SampledFrame {
  int64_t index = 0;  // in display order, from 0
  std::optional<double>
      pts_seconds;       // from the first presentation timestamp; empty: the file has none
  bool corrupt = false;  // the decoder concealed damage
};

// A stretch of the clip that gets an answer of its own; views point at it.
struct Window {
  double start_seconds = 0;
  double end_seconds = 0;
};

// What one forward pass sees: `frames` pictures, by their place in Clip::pixels.
struct View {
  int window = 0;  // index into Clip::windows
  int temporal_view = 0;
  int spatial_view = 0;
  std::vector<int> pictures;  // index into the pictures of Clip::pixels, one a frame
};

struct DecodeStats {
  int64_t frames_walked = 0;     // frames that came out of the decoder
  int64_t frames_skipped = 0;    // packets that needed no decoding
  int64_t frames_converted = 0;  // frames turned into RGB
  int64_t seeks = 0;
  double cpu_seconds = 0;
};

struct Notice {        // A Warning of the answer.
  std::string reason;  // UPPER_SNAKE_CASE
  std::string message;
};

// A decoded, sampled, resized and cropped clip, ready for the model. Pictures are stored once, also
// where windows overlap or a rule repeats a frame.
struct Clip {
  int height = 0;
  int width = 0;
  std::vector<uint8_t> pixels;  // [pictures, height, width, 3] RGB
  // Instead of pixels, where the caller normalised: [3, frames, height, width] of the only view,
  // which then names no pictures.
  std::vector<float> tensor;
  std::vector<SampledFrame>
      sampled;  // [pictures / spatial views]; picture = sampled * spatial_views + spatial
  std::vector<View> views;      // window-major, then temporal, then spatial
  std::vector<Window> windows;  // at least one
  SourceInfo source;
  DecodeStats stats;
  std::vector<Notice> notices;
  int spatial_views = 1;

  size_t picture_bytes() const { return static_cast<size_t>(height) * width * 3; }
  const uint8_t* picture(int i) const { return pixels.data() + picture_bytes() * i; }
};

}  // namespace scanline
