#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/render/sound.h"
#include "decode/libav.h"

namespace scanline::render {

struct FreeOutputFormat {
  void operator()(AVFormatContext* format) const;
};

struct VideoOutputOptions {
  std::string path;     // of an existing file, which is overwritten
  bool webm = false;    // else MP4
  std::string encoder;  // of libavcodec
  int width = 0;        // even
  int height = 0;
  AVRational time_base = {1, 90'000};
  AVRational frame_rate = {25, 1};  // a hint for the encoder
};

// The encoder that writes this container here: the one asked for, or the best of those that this
// FFmpeg has. FAILED_PRECONDITION where there is none.
absl::StatusOr<std::string> ChooseVideoEncoder(bool webm, const std::string& asked);

// An encoder and a container being written. Tells of colours what the first frame says.
class VideoOutput {
 public:
  // `sound` may be null. FAILED_PRECONDITION where encoder or container refuse these settings.
  static absl::StatusOr<std::unique_ptr<VideoOutput>> Open(const VideoOutputOptions& options,
                                                           const AVFrame& first,
                                                           std::unique_ptr<Sound> sound);

  // Frames come with ascending times; the sound up to this time goes with them.
  absl::Status AddFrame(AVFrame& frame, int64_t pts, int64_t duration);
  absl::Status Finish();

  // Why the sound ends early; OK where it does not.
  const absl::Status& sound_status() const { return sound_status_; }

 private:
  explicit VideoOutput(std::unique_ptr<Sound> sound) : sound_(std::move(sound)) {}
  absl::Status OpenEncoder(const VideoOutputOptions& options, const AVFrame& first);
  absl::Status OpenContainer(const VideoOutputOptions& options);
  absl::Status DrainEncoder();
  void AddSoundUntil(double seconds);

  std::unique_ptr<Sound> sound_;
  bool negative_times_ = false;  // the container takes them
  std::unique_ptr<AVFormatContext, FreeOutputFormat> format_;
  CodecPtr encoder_;
  PacketPtr packet_;
  PacketPtr sound_packet_;  // read, and to be written once its time has come
  bool has_sound_packet_ = false;
  std::map<int64_t, int64_t> durations_;  // of the frames inside the encoder, by pts
  absl::Status sound_status_;
};

}  // namespace scanline::render
