#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/render/palette.h"

namespace scanline::testing {

// A clip for tests, written with libav: lossless FFV1 in Matroska or MPEG-4 in MP4, so that it
// needs no encoder that a test is about.
struct MadeClip {
  std::string container = "mp4";  // "mp4", "matroska", "avi"
  int width = 64;                 // as stored
  int height = 48;
  int sample_aspect_num = 1;
  int sample_aspect_den = 1;
  // The four numbers a b c d of the display matrix: a stored point (x, y) is shown at
  // (a x + c y, b x + d y).
  std::array<int, 4> matrix = {1, 0, 0, 1};
  std::vector<int64_t> times_ms = {0, 40, 80, 120, 160, 200, 240, 280};
  // The colour of a stored pixel of a frame.
  std::function<render::Color(int frame, int x, int y)> paint;
  std::string sound;  // an encoder: "aac", "pcm_s16le"; empty: none
  int64_t sound_start_ms = 0;
};

void WriteClip(const std::string& path, const MadeClip& clip);

// What a test wants to know of a file, by libav alone.
struct FileFacts {
  std::string video_codec;
  std::string pixel_format;
  int width = 0;
  int height = 0;
  int sample_aspect_num = 0;
  std::vector<double> picture_times;  // seconds, ascending
  double last_duration = 0;           // seconds
  std::string sound_codec;            // empty: none
  std::vector<double> sound_times;
  std::vector<uint64_t> sound_hashes;  // of each packet's bytes
};
FileFacts InspectFile(const std::string& path);

// The root mean square of the decoded samples, in 0..1.
double SoundLevel(const std::string& path);

// Names of the boxes on the file's top level, in order: "ftyp", "moov", "mdat".
std::vector<std::string> TopBoxes(const std::string& path);

}  // namespace scanline::testing
