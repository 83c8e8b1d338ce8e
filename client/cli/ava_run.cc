#include "client/cli/ava_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/cli/annotations.h"
#include "client/cli/clip_run.h"
#include "client/cli/eval_run.h"
#include "client/cli/inputs.h"
#include "client/cli/outcome.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/formats/detections.h"

namespace scanline::cli {
namespace {

constexpr int64_t kSecond = 1000;  // milliseconds
constexpr int64_t kShortest = 100;

int64_t Milliseconds(double seconds) { return std::llround(seconds * kSecond); }

std::set<std::string> VideosOf(const std::set<AvaFrame>& keyframes) {
  std::set<std::string> videos;
  for (const AvaFrame& frame : keyframes) videos.insert(frame.first);
  return videos;
}

// Each person of `video` once: the truth has a row for each thing that they do.
void AddTrueBoxes(const std::vector<AvaAction>& truths, const std::string& video,
                  v1::DetectOptions& detect) {
  std::set<std::pair<int64_t, std::array<double, 4>>> boxes;
  for (const AvaAction& row : truths) {
    if (row.frame.first != video) continue;
    boxes.insert({row.frame.second, {row.x_min, row.y_min, row.x_max, row.y_max}});
  }
  for (const auto& [milliseconds, sides] : boxes) {
    v1::BoundingBox& box = *detect.add_proposals();
    SetSeconds(static_cast<double>(milliseconds) / kSecond, box.mutable_time_offset());
    box.set_x_min(static_cast<float>(sides[0]));
    box.set_y_min(static_cast<float>(sides[1]));
    box.set_x_max(static_cast<float>(sides[2]));
    box.set_y_max(static_cast<float>(sides[3]));
  }
}

// What was found at the keyframes that the truth has; of others it says nothing.
std::vector<formats::Detection> AtKeyframes(const v1::ClipResult& result, const std::string& video,
                                            const std::set<AvaFrame>& keyframes) {
  std::vector<formats::Detection> found = AnnotateDetections(result, 0).found;
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const formats::Detection& d) {
                               return keyframes.count({video, Milliseconds(d.seconds)}) == 0;
                             }),
              found.end());
  return found;
}

absl::Status SetInterval(const Args& args, const std::set<AvaFrame>& keyframes,
                         v1::DetectOptions& detect) {
  if (args.detect.interval_seconds == 0) {
    SCANLINE_ASSIGN_OR_RETURN(const int64_t interval, IntervalThrough(keyframes));
    SetSeconds(static_cast<double>(interval) / kSecond, detect.mutable_keyframe_interval());
    return absl::OkStatus();
  }
  const int64_t interval = Milliseconds(args.detect.interval_seconds);
  const auto missed = std::count_if(keyframes.begin(), keyframes.end(),
                                    [&](const AvaFrame& f) { return f.second % interval != 0; });
  if (missed == 0) return absl::OkStatus();
  SayOnError(absl::StrCat(missed, " of ", keyframes.size(), " keyframes of ", args.eval.truth,
                          " are no multiple of --interval: nothing is found there"));
  return absl::OkStatus();
}

// The request for every clip; with true boxes theirs are still to come.
absl::StatusOr<v1::AnalysisSpec> SpecForAva(const Args& args, const std::set<AvaFrame>& keyframes) {
  Args all_actions = args;
  all_actions.detect.top_k = 0;
  v1::AnalysisSpec spec = DetectSpecOf(all_actions);
  spec.set_include_sampling(false);
  if (!args.eval.true_boxes) {
    SCANLINE_RETURN_IF_ERROR(SetInterval(args, keyframes, *spec.mutable_detect()));
  }
  return spec;
}

// The videos that have a clip; the others are skipped.
std::vector<EvalClip> ClipsToSend(const Args& args, const std::set<std::string>& videos,
                                  const std::map<std::string, std::string>& files, AvaRun& run) {
  std::vector<EvalClip> clips;
  for (const std::string& video : videos) {
    const auto file = files.find(video);
    if (file != files.end()) {
      clips.push_back({video, file->second, clips.size()});
      continue;
    }
    run.skipped[video] = absl::StrCat("no clip of this name in ", args.eval.clips);
    SayOnError(absl::StrCat(video, ": ", run.skipped[video]));
  }
  return clips;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ClipsByVideo(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::InvalidArgumentError(absl::StrCat("--clips ", folder, " is no folder"));
  }
  SCANLINE_ASSIGN_OR_RETURN(const Inputs inputs, ExpandInputs({folder}));
  std::map<std::string, std::string> files;
  for (const std::string& file : inputs.files) {
    const auto [first, is_new] = files.emplace(std::filesystem::path(file).stem().native(), file);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat("expected one clip of the name ", first->first,
                                                   ", found ", first->second, " and ", file));
  }
  return files;
}

absl::StatusOr<int64_t> IntervalThrough(const std::set<AvaFrame>& keyframes) {
  int64_t interval = kSecond;
  for (const AvaFrame& frame : keyframes) interval = std::gcd(interval, frame.second);
  if (interval >= kShortest) return interval;
  return absl::InvalidArgumentError(absl::StrCat(
      "the truth's keyframes are ", interval,
      " ms apart or whole multiples of it, expected 100 ms or more: give --interval, or "
      "--true-boxes"));
}

absl::StatusOr<AvaRun> DetectForAva(const Args& args, const Terminal& terminal,
                                    Interrupt& interrupt, const std::vector<AvaAction>& truths,
                                    const std::set<AvaFrame>& keyframes) {
  SCANLINE_ASSIGN_OR_RETURN(const auto files, ClipsByVideo(args.eval.clips));
  SCANLINE_ASSIGN_OR_RETURN(const v1::AnalysisSpec spec, SpecForAva(args, keyframes));
  AvaRun run;
  const auto session = OpenSessionFor(args.server, args.model, v1::TASK_DETECT_ACTIONS);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    run.exit_code = ExitCodeOf(ErrorOf(session.status()));
    return run;
  }
  run.model = session->model.name();
  const std::set<std::string> videos = VideosOf(keyframes);
  const std::vector<EvalClip> clips = ClipsToSend(args, videos, files, run);
  std::vector<formats::DetectedVideo> found(clips.size());
  Mutex mu;  // of `run.skipped`; each clip has its own place in `found`
  run.exit_code = AskForClips(
      args, terminal, interrupt, *session, clips, videos.size(),
      [&](const EvalClip& clip, const OnSent& on_sent) {
        v1::AnalysisSpec its_spec = spec;
        if (args.eval.true_boxes) AddTrueBoxes(truths, clip.path, *its_spec.mutable_detect());
        formats::DetectedVideo& video = found[clip.place];
        video.name = clip.path;
        // Without anyone to ask about the server would look for people.
        if (args.eval.true_boxes && its_spec.detect().proposals().empty()) return absl::OkStatus();
        const auto result = SendClip(clip.file, *session->client, session->limits, its_spec,
                                     absl::Seconds(args.timeout_seconds), on_sent);
        if (result.ok()) {
          video.detections = AtKeyframes(*result, clip.path, keyframes);
        } else if (IsAboutTheClip(result.status())) {
          const MutexLock lock(mu);
          run.skipped[clip.path] = Sentence(ErrorOf(result.status()));
        }
        return result.status();
      },
      [] { return absl::OkStatus(); });
  run.findings = formats::ToAvaCsv(found);
  return run;
}

}  // namespace scanline::cli
