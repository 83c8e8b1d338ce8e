#include "client/cli/save.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cancel.h"
#include "base/status_macros.h"
#include "client/cli/clip_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/same_file.h"
#include "client/cli/save_name.h"
#include "client/render/annotated_video.h"
#include "client/render/ass.h"
#include "client/render/atomic_file.h"
#include "client/render/frames_at.h"
#include "client/render/png.h"
#include "decode/keyframes.h"
#include "decode/timeline.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;

// As for annotated video: reading the user's own file on the user's own machine.
constexpr double kMostCpuSeconds = 4 * 3600;
constexpr int kFullSize = 1 << 20;  // pixels of a side; no picture is that large

bool Draws(SaveAs as) { return as == SaveAs::kMp4 || as == SaveAs::kWebm || as == SaveAs::kSheet; }

absl::Status CheckFile(const std::string& file, bool force) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    return absl::InvalidArgumentError(absl::StrCat("--save ", file, " is a folder"));
  }
  if (!force && fs::exists(file, error)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is there already; --force replaces it"));
  }
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--save ", file, ": no folder ", folder.native()));
  }
  return absl::OkStatus();
}

// The frames of looks and detections, which go by time.
absl::Status PlaceOnFrames(const Timeline& timeline, formats::DetectedVideo& video) {
  video.frames = timeline.frames();
  std::map<double, int64_t> frame_at;
  for (formats::Keyframe& look : video.keyframes) {
    if (look.frame_index >= video.frames) {
      return absl::FailedPreconditionError(
          absl::StrCat("the server looked at frame ", look.frame_index, ", the clip has ",
                       video.frames, ": it is another file by now"));
    }
    look.frame_seconds = timeline.start[static_cast<size_t>(look.frame_index)];
    frame_at[look.seconds] = look.frame_index;
  }
  for (formats::Detection& found : video.detections) {
    const auto place = frame_at.find(found.seconds);
    found.frame_index =
        place != frame_at.end() ? place->second : NearestFrame(timeline, found.seconds);
  }
  return absl::OkStatus();
}

// One clip being shown in several files.
class Saver {
 public:
  // `most_actions`: of a person in COCO and CVAT files.
  Saver(const std::string& input, const Annotations& annotations, size_t most_actions,
        const Cancel& cancel)
      : input_(input), all_(annotations), most_actions_(most_actions), cancel_(cancel) {}

  absl::Status Write(const std::string& file) const {
    switch (*SaveAsOf(file)) {
      case SaveAs::kMp4:
      case SaveAs::kWebm:
        return render::WriteAnnotatedVideo(input_, file, all_.overlay, {}, cancel_).status();
      case SaveAs::kSheet:
        return WriteSheet(file);
      case SaveAs::kAss: {
        SCANLINE_ASSIGN_OR_RETURN(const auto first, Frames({0}, kFullSize));
        return render::WriteFileWhole(file,
                                      render::ToAss(all_.overlay, first[0].width, first[0].height));
      }
      case SaveAs::kVtt:
        return render::WriteFileWhole(file, render::ToWebVtt(all_.overlay));
      case SaveAs::kAvaCsv: {
        // Videos go by their names without an end in AVA's own files.
        const formats::DetectedVideo video = {.name = fs::path(input_).stem().native(),
                                              .detections = all_.found};
        return render::WriteFileWhole(file, formats::ToAvaCsv({video}));
      }
      case SaveAs::kCocoJson: {
        SCANLINE_ASSIGN_OR_RETURN(const formats::DetectedVideo video, Detected());
        return render::WriteFileWhole(file, formats::ToCocoJson({video}));
      }
      case SaveAs::kCvatXml: {
        SCANLINE_ASSIGN_OR_RETURN(const formats::DetectedVideo video, Detected());
        return render::WriteFileWhole(file, formats::ToCvatXml(video));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<render::TimedFrame>> Frames(const std::vector<double>& seconds,
                                                         int max_side) const {
    return render::FramesAt(input_, seconds,
                            {.max_side = max_side,
                             .pick = render::FramePick::kNearest,
                             .limits = {.max_cpu_seconds = kMostCpuSeconds}},
                            cancel_);
  }

  absl::Status WriteSheet(const std::string& file) const {
    render::SheetOptions options;
    options.title = fs::path(input_).filename().native();
    options.subtitle = all_.subtitle;
    options.chart = all_.chart;
    std::vector<double> seconds;
    for (const SheetMoment& moment : all_.moments) seconds.push_back(moment.seconds);
    SCANLINE_ASSIGN_OR_RETURN(auto frames, Frames(seconds, options.tile_width));
    std::vector<render::SheetTile> tiles;
    for (size_t i = 0; i < frames.size(); ++i) {
      const SheetMoment& moment = all_.moments[i];
      tiles.push_back({frames[i].width, frames[i].height, std::move(frames[i].rgb), moment.lines,
                       moment.boxes});
    }
    return render::WriteContactSheet(file, tiles, options);
  }

  // With what only the clip itself can say: its size and its frames.
  absl::StatusOr<formats::DetectedVideo> Detected() const {
    formats::DetectedVideo video;
    video.name = fs::path(input_).filename().native();
    video.keyframes = all_.looks;
    video.detections = all_.found;
    for (formats::Detection& found : video.detections) {
      if (found.classes.size() > most_actions_) found.classes.resize(most_actions_);
    }
    SCANLINE_ASSIGN_OR_RETURN(const auto first, Frames({0}, kFullSize));
    video.width = first[0].width;
    video.height = first[0].height;
    SCANLINE_ASSIGN_OR_RETURN(
        const Timeline timeline,
        render::TimelineAt(input_, {.max_cpu_seconds = kMostCpuSeconds}, cancel_));
    SCANLINE_RETURN_IF_ERROR(PlaceOnFrames(timeline, video));
    return video;
  }

  const std::string& input_;
  const Annotations& all_;
  const size_t most_actions_;
  const Cancel& cancel_;
};

// Raises a Cancel when a flag goes up, as long as it lives.
class CancelOnFlag {
 public:
  CancelOnFlag(const std::atomic<bool>& flag, const Cancel& cancel)
      : thread_([this, &flag, cancel] {
          while (!done_ && !flag) std::this_thread::sleep_for(std::chrono::milliseconds(20));
          if (flag) cancel.RequestCancel();
        }) {}
  ~CancelOnFlag() {
    done_ = true;
    thread_.join();
  }
  CancelOnFlag(const CancelOnFlag&) = delete;
  CancelOnFlag& operator=(const CancelOnFlag&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

absl::Status CheckSave(const Args& args, const std::vector<std::string>& inputs) {
  if (args.save.empty()) return absl::OkStatus();
  if (inputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--save shows one INPUT, found ", inputs.size()));
  }
  if (inputs[0] == "-") {
    return absl::InvalidArgumentError(
        "--save reads the INPUT a second time: name a file, not standard input");
  }
  std::vector<NamedFile> written;
  for (const std::string& file : args.save) written.push_back({"--save", file});
  SCANLINE_RETURN_IF_ERROR(CheckWritten(written, FilesRead(args, inputs)));
  bool draws = false;
  for (const std::string& file : args.save) {
    SCANLINE_RETURN_IF_ERROR(CheckFile(file, args.force));
    draws |= Draws(*SaveAsOf(file));
  }
  return draws ? render::CheckFonts() : absl::OkStatus();
}

int Save(const Args& args, Interrupt& interrupt, const std::string& input,
         const Annotations& annotations) {
  if (args.save.empty()) return kExitOk;
  interrupt.WatchFlag();
  const Cancel cancel;
  const CancelOnFlag watch(interrupt.raised(), cancel);
  const size_t most_actions =
      args.detect.top_k ? std::numeric_limits<size_t>::max() : Args::Detect::kTopActions;
  const Saver saver(input, annotations, most_actions, cancel);
  for (const std::string& file : args.save) {
    const absl::Status status = saver.Write(file);
    if (status.ok()) continue;
    if (interrupt.raised()) {
      SayOnError(absl::StrCat("interrupted: ", file, " is not written"));
      return kExitInterrupted;
    }
    SayOnError(absl::StrCat("cannot save ", file, ": ", status.message()));
    return kExitInputFailed;
  }
  return kExitOk;
}

}  // namespace scanline::cli
