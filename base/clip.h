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
  kShortSide256Pad16,  // AVA: short side to `size` as above, long side whole; then padded to the
                       // right and below to multiples of pad_multiple
  kCentreSquareArea,   // centre square of the frame, exact area average to size x size
};

// Moments at which people and their actions are looked for, each with a view of its own round it
// (rules kAva and kWindow; one spatial view).
struct KeyframeSpec {
  // Every so many seconds of the clip, at least half of that away from both ends of the segment; in
  // a shorter segment once, in its middle.
  double interval_seconds = 1;
  std::vector<double> seconds;  // instead: at these, from the first presentation timestamp
  bool alone = false;           // the clip has no other views
  bool show = false;            // their frames are shown to who watches the decoding
  int box_frame = 0;            // kWindow: the frame of the view that is the keyframe
};

// Which frames the model sees.
struct SamplingSpec {
  SamplingRule rule = SamplingRule::kUniform;
  int frames = 8;  // frames a view
  int temporal_views = 1;
  int frame_step = 1;               // kK400Dense, kAva: every n-th frame
  double frame_rate = 30;           // kAva: of the frames that are counted; 0: the clip's own
  double window_seconds = 0;        // kWindow: length of a window
  double stride_seconds = 0;        // kWindow: from start to start
  double single_up_to_seconds = 0;  // kWindow: a clip no longer than this is one uniform window
  // Seconds from the first presentation timestamp; only frames on screen in [start, end) count.
  double start_seconds = 0;
  std::optional<double> end_seconds;
  std::optional<KeyframeSpec> keyframes;
};

// What the model wants of a video.
struct FrameSpec {
  SamplingSpec sampling;
  ResizeRule resize = ResizeRule::kShortSideBilinear;
  int size = 224;         // pixels: side of the square that the model sees, or its short side
  int pad_multiple = 16;  // kShortSide256Pad16
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
  // When it comes on screen, on the time line of windows and keyframes: from the clip's first frame
  // on, never falling. Of frames that are sent as such, what the caller said, or empty.
  std::optional<double> seconds;
  bool corrupt = false;  // the decoder concealed damage
};

// A stretch of the clip that gets an answer of its own; views point at it.
struct Window {
  double start_seconds = 0;
  double end_seconds = 0;
};

// What one forward pass sees: `frames` pictures, by their place in Clip::pixels.
struct View {
  int window = 0;  // index into Clip::windows; -1: of none, round a keyframe only
  int temporal_view = 0;
  int spatial_view = 0;
  std::vector<int> pictures;  // index into the pictures of Clip::pixels, one a frame
};

// A moment that boxes belong to.
struct Keyframe {
  double seconds = 0;  // from the first presentation timestamp, as it was asked for
  int64_t frame = 0;   // the one nearest to it, in display order
  int view = 0;        // index into Clip::views: the one round it
  int width = 0;       // of the upright frames there (sample aspect applied where the spec says so)
  int height = 0;
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
  // The part from the upper left corner that shows something; the rest is padding, which the model
  // sees as 0 after normalisation. 0: all of it.
  int valid_height = 0;
  int valid_width = 0;
  std::vector<uint8_t> pixels;  // [pictures, height, width, 3] RGB
  // Instead of pixels, where the caller normalised: [3, frames, height, width] of the only view,
  // which then names no pictures.
  std::vector<float> tensor;
  std::vector<SampledFrame>
      sampled;  // [pictures / spatial views]; picture = sampled * spatial_views + spatial
  std::vector<View> views;      // window-major, then temporal, then spatial; at the end the ones
                                // of no window
  std::vector<Window> windows;  // at least one
  std::vector<Keyframe> keyframes;  // in the order of time, or of KeyframeSpec::seconds
  SourceInfo source;
  DecodeStats stats;
  std::vector<Notice> notices;
  int spatial_views = 1;

  size_t picture_bytes() const { return static_cast<size_t>(height) * width * 3; }
  const uint8_t* picture(int i) const { return pixels.data() + picture_bytes() * i; }
};

}  // namespace scanline
