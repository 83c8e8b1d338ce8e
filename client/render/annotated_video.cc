#include "client/render/annotated_video.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/render/ass.h"
#include "client/render/atomic_file.h"
#include "client/render/file_input.h"
#include "client/render/picture_filter.h"
#include "client/render/png.h"
#include "client/render/sound.h"
#include "client/render/video_output.h"
#include "decode/demuxer.h"
#include "decode/video_reader.h"

namespace scanline::render {
namespace {

// An index that proves wrong, a guess that proves wrong, the truth.
constexpr int kMaxWalks = 3;
constexpr char kSoundDropped[] = "SOUND_DROPPED";

bool HasText(const Overlay& overlay) {
  const auto has_lines = [](const auto& item) { return !item.lines.empty(); };
  return std::any_of(overlay.boxes.begin(), overlay.boxes.end(), has_lines) ||
         std::any_of(overlay.captions.begin(), overlay.captions.end(), has_lines);
}

int Even(int size) { return std::max(2, size + size % 2); }

// The input's own ticks where they are sane, so that times come out as they went in.
AVRational OutputTicks(const AVStream& stream) {
  const AVRational ticks = stream.time_base;
  const bool sane =
      ticks.num > 0 && ticks.den > 0 && ticks.den <= 1'000'000 && av_q2d(ticks) <= 0.1;
  return sane ? ticks : AVRational{1, 90'000};
}

AVRational OutputRate(const AVStream& stream) {
  const AVRational rate = stream.avg_frame_rate;
  const bool sane = rate.num > 0 && rate.den > 0 && av_q2d(rate) >= 0.1 && av_q2d(rate) <= 1000;
  return sane ? rate : AVRational{25, 1};
}

// One attempt at the whole output. Everything is decided by the first picture.
class Annotator {
 public:
  // Writes to `path` what will have the name `name`.
  Annotator(ByteInput& input, const VideoReader& reader, std::string path, std::string name,
            const Overlay& overlay, const AnnotateOptions& options, const Cancel& cancel)
      : input_(input),
        reader_(reader),
        path_(std::move(path)),
        name_(std::move(name)),
        overlay_(overlay),
        options_(options),
        cancel_(cancel) {}

  absl::Status Add(const WantedFrame& wanted) {
    if (output_ == nullptr) SCANLINE_RETURN_IF_ERROR(Begin(wanted));
    const Timeline& timeline = reader_.timeline();
    const double seconds = timeline.start[wanted.index];
    FramePtr frame = std::move(first_);
    if (frame == nullptr) {
      SCANLINE_ASSIGN_OR_RETURN(frame, filter_->Run(wanted, seconds));
    }
    const int64_t pts = std::max(Ticks(seconds), next_pts_);
    const bool last = wanted.index + 1 == timeline.frames();
    const double until = last ? timeline.end : timeline.start[wanted.index + 1];
    SCANLINE_RETURN_IF_ERROR(
        output_->AddFrame(*frame, pts, std::max<int64_t>(1, Ticks(until) - pts)));
    next_pts_ = pts + 1;
    ++video_.frames;
    if (options_.on_progress) {
      options_.on_progress(static_cast<double>(video_.frames) /
                           static_cast<double>(timeline.frames()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<AnnotatedVideo> Finish() {
    LibavFindings findings;
    const LibavScope scope(&findings);
    if (output_ == nullptr) {
      return MakeError(Reason::kNoVideoStream, "the video shows no picture that could be drawn on");
    }
    SCANLINE_RETURN_IF_ERROR(output_->Finish());
    if (!output_->sound_status().ok()) {
      video_.notices.push_back({kSoundDropped, absl::StrCat("the sound ends early: ",
                                                            output_->sound_status().message())});
    }
    return std::move(video_);
  }

 private:
  int64_t Ticks(double seconds) const { return std::llround(seconds / av_q2d(ticks_)); }

  absl::Status Begin(const WantedFrame& wanted) {
    SCANLINE_ASSIGN_OR_RETURN(const Size shown, ShownSize(wanted, options_.limits.max_pixels));
    video_.width = Even(shown.width);
    video_.height = Even(shown.height);
    PictureFilterOptions pictures;
    pictures.width = video_.width;
    pictures.height = video_.height;
    pictures.ass = ToAss(overlay_, video_.width, video_.height);
    SCANLINE_ASSIGN_OR_RETURN(PictureFilter filter, PictureFilter::Make(pictures));
    filter_.emplace(std::move(filter));
    SCANLINE_ASSIGN_OR_RETURN(first_, filter_->Run(wanted, reader_.timeline().start[wanted.index]));

    VideoOutputOptions output;
    output.path = path_;
    output.webm = absl::EndsWithIgnoreCase(name_, ".webm");
    SCANLINE_ASSIGN_OR_RETURN(output.encoder,
                              ChooseVideoEncoder(output.webm, options_.video_encoder));
    output.width = video_.width;
    output.height = video_.height;
    output.time_base = ticks_ = OutputTicks(reader_.stream());
    output.frame_rate = OutputRate(reader_.stream());
    video_.video_encoder = output.encoder;
    return OpenOutput(output);
  }

  // Copied sound, or encoded again, or none: the first that the container takes.
  absl::Status OpenOutput(const VideoOutputOptions& options) {
    std::string why;
    for (const SoundUse use : {SoundUse::kCopied, SoundUse::kTranscoded, SoundUse::kDropped}) {
      auto sound = OpenSound(use, options.webm);
      if (absl::IsNotFound(sound.status())) {
        sound = nullptr;
        video_.sound = SoundUse::kNone;
      } else {
        video_.sound = use;
      }
      if (!sound.ok()) {
        why = std::string(sound.status().message());
        continue;
      }
      const bool silent = *sound == nullptr;
      auto opened = VideoOutput::Open(options, *first_, *std::move(sound));
      if (!opened.ok() && silent) return opened.status();
      if (!opened.ok()) {
        why = std::string(opened.status().message());
        continue;
      }
      output_ = *std::move(opened);
      if (video_.sound == SoundUse::kDropped) {
        video_.notices.push_back({kSoundDropped, absl::StrCat("the sound is left out: ", why)});
      }
      return absl::OkStatus();
    }
    return absl::InternalError("no way to write the video was tried");
  }

  // Null for none. NOT_FOUND where the input has no sound.
  absl::StatusOr<std::unique_ptr<Sound>> OpenSound(SoundUse use, bool webm) {
    if (use == SoundUse::kDropped) return nullptr;
    SCANLINE_ASSIGN_OR_RETURN(
        std::unique_ptr<Demuxer> demuxer,
        Demuxer::OpenSound(input_, options_.limits.max_pixels, cancel_, &findings_));
    SoundSpan span;
    span.start = reader_.origin_seconds().value_or(0);
    span.end = span.start + reader_.timeline().end;
    if (use == SoundUse::kTranscoded) {
      return TranscodeSound(std::move(demuxer), span, webm ? "libopus" : "aac");
    }
    const AVCodecID codec = demuxer->stream()->codecpar->codec_id;
    const AVOutputFormat* container = av_guess_format(webm ? "webm" : "mp4", nullptr, nullptr);
    if (avformat_query_codec(container, codec, FF_COMPLIANCE_NORMAL) != 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("the container does not take ", avcodec_get_name(codec)));
    }
    return CopySound(std::move(demuxer), span);
  }

  ByteInput& input_;
  const VideoReader& reader_;
  std::string path_;
  std::string name_;
  const Overlay& overlay_;
  const AnnotateOptions& options_;
  const Cancel& cancel_;
  LibavFindings findings_;  // of the sound
  AVRational ticks_ = {1, 90'000};
  std::optional<PictureFilter> filter_;
  FramePtr first_;
  std::unique_ptr<VideoOutput> output_;
  int64_t next_pts_ = 0;
  AnnotatedVideo video_;
};

void TellDamage(const VideoReader& reader, AnnotatedVideo& video) {
  if (reader.cut()) {
    video.notices.push_back(
        {std::string(ReasonName(Reason::kVideoTruncated)),
         absl::StrFormat(
             "the file is cut: its container speaks of more than the %d frames it holds",
             video.frames)});
  }
  if (reader.packets_lost() > 0) {
    video.notices.push_back({std::string(ReasonName(Reason::kVideoCorrupt)),
                             absl::StrFormat("%d of %d packets could not be decoded",
                                             reader.packets_lost(), reader.packets())});
  }
}

}  // namespace

absl::StatusOr<AnnotatedVideo> WriteAnnotatedVideo(const std::string& input,
                                                   const std::string& output,
                                                   const Overlay& overlay,
                                                   const AnnotateOptions& options,
                                                   const Cancel& cancel) {
  SCANLINE_ASSIGN_OR_RETURN(const std::unique_ptr<FileInput> file, FileInput::Open(input));
  if (HasText(overlay)) SCANLINE_RETURN_IF_ERROR(CheckFonts());
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(*file, options.limits, cancel));
  for (int walk = 0; walk < kMaxWalks; ++walk) {
    if (!reader->timeline_is_final()) {
      SCANLINE_RETURN_IF_ERROR(
          reader->Walk({}, [](const WantedFrame&) { return absl::OkStatus(); }).status());
    }
    std::vector<int64_t> all(static_cast<size_t>(reader->timeline().frames()));
    std::iota(all.begin(), all.end(), int64_t{0});
    SCANLINE_ASSIGN_OR_RETURN(AtomicFile whole, AtomicFile::Create(output));
    Annotator annotator(*file, *reader, whole.passing_path(), output, overlay, options, cancel);
    SCANLINE_ASSIGN_OR_RETURN(const bool walked, reader->Walk(all, [&](const WantedFrame& wanted) {
      return annotator.Add(wanted);
    }));
    if (!walked) continue;  // the index was wrong: from the start again
    SCANLINE_ASSIGN_OR_RETURN(AnnotatedVideo video, annotator.Finish());
    SCANLINE_RETURN_IF_ERROR(whole.Commit());
    TellDamage(*reader, video);
    return video;
  }
  return MakeError(Reason::kVideoCorrupt, "the clip decodes differently each time");
}

}  // namespace scanline::render
