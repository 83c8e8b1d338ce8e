#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scanline::formats {

// What people do in videos, as plain data, and the same as text that other tools read
// (docs/formats.md has every column and field). Boxes in 0..1 of the displayed picture.

struct ScoredClass {
  int id = 0;
  std::string label;
  double score = 0;
};

struct Detection {
  double seconds = 0;       // from the first frame
  int64_t frame_index = 0;  // of the decoded frame, from 0, in display order
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  int64_t track_id = 0;  // from 1 on, within the video; 0: not linked
  double person_score = 1;
  std::vector<ScoredClass> classes;
};

// A look at the video.
struct Keyframe {
  double seconds = 0;        // as it was asked for
  int64_t frame_index = 0;   // the decoded frame that was looked at; two looks may share one
  double frame_seconds = 0;  // when that comes on screen
};

struct DetectedVideo {
  std::string name;
  int width = 0;  // of the displayed picture, pixels
  int height = 0;
  int64_t frames = 0;               // of the whole video
  std::vector<Keyframe> keyframes;  // also where nobody was
  std::vector<Detection> detections;
};

// Rows of the AVA challenge, without a header:
//   video,seconds,x_min,y_min,x_max,y_max,action,score
// one for each action of each person. RFC 4180 quotes where a name needs them.
std::string ToAvaCsv(const std::vector<DetectedVideo>& videos);

// COCO: `videos`, an `images` row for each frame that was looked at, an `annotations` row for each
// action of each person there (a box in pixels, `score`, `track_id`, `person_score`), `categories`
// of the actions that occur. All ids from 1 and unique in the file; `category_id` is the action's
// own id. Of several looks at one frame the nearest to it counts (looks.h).
std::string ToCocoJson(const std::vector<DetectedVideo>& videos);

// CVAT for video 1.1, of one video: a track of label "person" for each linked person and for each
// box that is not linked, and in it a keyframed box for each frame where they were found. Where the
// next look does not find them, and after the last one, a box that is `outside` follows on the next
// frame, if the video has one. Actions are a JSON text in the attribute `actions`. Frames from 0;
// boxes in pixels. Of several looks at one frame the nearest to it counts (looks.h).
std::string ToCvatXml(const DetectedVideo& video);

}  // namespace scanline::formats
